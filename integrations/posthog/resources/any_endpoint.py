"""The tool that reads any path of PostHog's API with GET."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from integrations.argument_coercion import from_json_text
from integrations.json_object import Json
from integrations.posthog.client import NO_SUCH_PATH, NOT_FOUND, PosthogApi
from integrations.posthog.truncation import MOST_BYTES, fit, is_representable
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import more_follow
from integrations.tool import Params, Result, tool

HOSTS = re.compile(r"https?://[^/]+", re.IGNORECASE)
BEGINNING = "/api/"
MOST_PARAMS, ROOM_OF_TEXT, ROOM_OF_BODY, LONGEST_QUERY = 50, 40_000, MOST_BYTES, 1_500
FEWEST = 1
TOO_MANY_PARAMS = f"must be {MOST_PARAMS} at most"
QUERY_PARAMETERS = frozenset({"limit", "offset", "page", "cursor", "search", "ordering", "order"})
"""Parameters that models put beside `params` by mistake."""
CUT = "Long parts are cut and marked with …: read one object, or use a smaller `limit` in `params`."
ASK_FOR_LESS = "Read one object, or use a smaller `limit` in `params`."
ENDED_EARLY = "Only the first {kept} of the {of} results on this page are shown, because the page is too long."
USE_SMALLER_LIMIT = "{} Call again with `limit` {} in `params` to read all of them, page by page."
NO_PATH = "PostHog's API has no path {}. Names of lists are in the plural, such as /api/projects/1/actions/."
NOTHING_FOUND = "PostHog found nothing at {}, or the key may not read it."
Value = str | int | float | bool | list[str | int | float | bool]
PROJECTS = "; `posthog_list_projects` lists the projects with their numbers"
_NUMBER = re.compile(r"[0-9]{1,9}")
_PLACE = re.compile(r"\{\w*\}|<\w+>")
"""A placeholder of an example."""


def _path(value: object) -> object:
    """Check a path of the API, and reduce a URL to its path."""
    if not isinstance(value, str):
        return value
    text = HOSTS.sub("", value.strip(), count=1)
    text = text if text.startswith("/") else f"/{text}"
    path = unquote(re.split(r"[?#]", text, maxsplit=1)[0])
    if not path.startswith(BEGINNING):
        raise ValueError(f"must begin with {BEGINNING}, such as /api/projects/1/actions/")
    if placeholder := _PLACE.search(path):
        raise ValueError(f"fill in `{placeholder[0]}`{PROJECTS if 'project' in placeholder[0].lower() else ''}")
    if any(step in ("", ".", "..") for step in path.strip("/").split("/")) or not path.isprintable() or "\\" in path:
        raise ValueError("must be a plain path, without `..`, `//` or similar")
    return f"{path.rstrip('/')}/"


def _params(value: object) -> object:
    """Parse a query string or JSON text to an object."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("{") and "=" in value:
        return dict(_pairs(value.strip().lstrip("?")))
    return from_json_text(value)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, max_num_fields=MOST_PARAMS)
    except ValueError as error:
        raise ValueError(TOO_MANY_PARAMS) from error


def _validate_params(params: dict[str, Value]) -> dict[str, Value]:
    if any(isinstance(params, int | float) and not is_representable(params) for params in params.values()):
        raise ValueError("has a number that is too large")
    if len(urlencode(params, doseq=True)) > LONGEST_QUERY:
        raise ValueError(f"must have {LONGEST_QUERY:,} characters at most when encoded as a query")
    return params


class Get(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("url", "endpoint", "uri"), "path"),
        **dict.fromkeys(("query", "parameters", "queryparams"), "params"),
    }
    path: Annotated[str, BeforeValidator(_path)] = Field(
        max_length=400, description="Begins with /api/.", examples=["/api/projects/12345/actions/"]
    )
    params: Annotated[dict[str, Value], BeforeValidator(_params), AfterValidator(_validate_params)] = Field(
        default_factory=dict,
        max_length=MOST_PARAMS,
        description="Query parameters by name; a list repeats its name.",
        examples=[{"search": "checkout", "limit": 20}],
    )

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, args: object) -> object:
        """Merge parameters after a question mark, and those beside `params`, into `params`."""
        normalised = super()._normalise(args)  # type: ignore[operator]  # a proxy, which gives the function
        if not isinstance(normalised, dict) or not isinstance(path := normalised.get("path"), str):
            return normalised
        try:
            params = _params(normalised.get("params", {}))
        except ValueError:
            return normalised
        if not isinstance(params, dict):
            return normalised
        before, _, query = path.partition("?")
        misplaced = {name: value for name, value in normalised.items() if name in QUERY_PARAMETERS}
        rest = {name: value for name, value in normalised.items() if name not in QUERY_PARAMETERS}
        return {**rest, "path": before, "params": {**dict(_pairs(query)), **misplaced, **params}}


class Anything(Result):
    path: str
    body: object = Field(description="PostHog's response, with long parts cut.")
    next_params: Json | None = Field(
        default=None, description="Pass it as `params`, with the same path, for the next page."
    )
    notes: list[str] = Field(default=[])

    def text(self) -> str:
        next_note = more_follow("params", self.next_params) if self.next_params else ""
        paragraphs = (f"GET {self.path}", *self.notes, _json_text(self.body), next_note)
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


@tool("Read anything else")
async def posthog_get(api: PosthogApi, request: Get) -> Anything:
    """Read any path of PostHog's API that no other tool reads, with GET: actions, alerts, notebooks, members, ….

    `path` begins with /api/, usually /api/projects/{projectId}/…; `params` are the query. Lists accept `limit` and
    `offset`, histories `limit` and `page`. Examples: /api/projects/1/actions/, /api/projects/1/notebooks/,
    /api/projects/1/feature_flags/7/activity/, /api/organizations/@current/members/. Returns PostHog's own JSON, with
    long parts cut. It never changes anything: it only sends GET. Each path needs its own scope; the error names a
    missing one. Prefer the other tools if one fits.
    """
    try:
        with too_large_hint(ASK_FOR_LESS):
            body = await api.get(quote(request.path, safe="/@$~:"), request.params)
    except ToolFailed as failed:
        text = {NOT_FOUND: NOTHING_FOUND, NO_SUCH_PATH: NO_PATH}.get(failed.text)
        if text is None:
            raise
        raise ToolFailed("upstream_refused", text.format(request.path)) from failed
    return _result(request, body)


def _result(request: Get, body: Any) -> Anything:
    page, kept, total = _page(body)
    shown, is_cut = fit(page, ROOM_OF_BODY // 2)
    if len(_json_text(shown)) > ROOM_OF_TEXT:
        shown, is_cut = fit(page, ROOM_OF_TEXT)
    next_params, notes = _next_params(request, body, kept, total)
    return Anything(
        path=request.path,
        body=shown,
        next_params=request.params | next_params if next_params else None,
        notes=[*notes, *([CUT] if is_cut else [])],
    )


def _page(body: Any) -> tuple[Any, int, int]:
    """A list with as many items as fit, the number of those, and the number of all."""
    results = body.get("results") if isinstance(body, dict) else None
    if not isinstance(results, list):
        return body, 0, 0
    kept, room = 0, ROOM_OF_TEXT - 2_000
    for result in results:
        room -= len(_json_text(result)) + 2
        if room < 0 and kept >= FEWEST:
            break
        kept += 1
    rest = {name: value for name, value in body.items() if name not in ("next", "previous")}
    return rest | {"results": results[:kept]}, kept, len(results)


def _next_params(request: Get, body: Any, kept: int, total: int) -> tuple[Json, list[str]]:
    """Parameters that change for the next page, taken from PostHog's link without using its host."""
    link = body.get("next") if isinstance(body, dict) else None
    link_params = dict(parse_qsl(urlsplit(link).query)) if isinstance(link, str) else {}
    params = {name: int(value) if _NUMBER.fullmatch(value) else value for name, value in link_params.items()}
    if kept == total:
        return {name: value for name, value in params.items() if str(request.params.get(name)) != str(value)}, []
    early = ENDED_EARLY.format(kept=kept, of=total)
    if link_params.keys() & {"page", "cursor"} or request.params.keys() & {"page", "cursor"}:
        return {}, [USE_SMALLER_LIMIT.format(early, kept)]
    return {"offset": _offset(request) + kept}, [early]


def _offset(request: Get) -> int:
    value = str(request.params.get("offset", 0))
    return int(value) if _NUMBER.fullmatch(value) else 0


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

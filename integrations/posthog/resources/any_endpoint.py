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
from integrations.posthog.client import NO_SUCH_PATH, NOT_THERE, PosthogApi
from integrations.posthog.truncation import MOST_BYTES, fitted, is_finite
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import more_follow
from integrations.tool import Params, Result, tool

HOSTS = re.compile(r"https?://[^/]+", re.IGNORECASE)
BEGINNING = "/api/"
MOST_PARAMS, ROOM_OF_TEXT, ROOM_OF_BODY, LONGEST_QUERY = 50, 40_000, MOST_BYTES, 1_500
FEWEST = 1
TOO_MANY = f"must be {MOST_PARAMS} at most"
OF_PARAMS = frozenset({"limit", "offset", "page", "cursor", "search", "ordering", "order"})
"""Parameters that models put beside `params` by mistake."""
CUT = "Long parts are cut and marked with …: read one object, or use a smaller `limit` in `params`."
LESS = "Read one object, or use a smaller `limit` in `params`."
ENDED_EARLY = "Only the first {kept} of the {of} results on this page are shown, because the page is too long."
SMALLER = "{} Call again with `limit` {} in `params` to read all of them, page by page."
NO_PATH = "PostHog's API has no path {}. Names of lists are in the plural, such as /api/projects/1/actions/."
NOTHING = "PostHog found nothing at {}, or the key may not read it."
Value = str | int | float | bool | list[str | int | float | bool]
PROJECTS = "; `posthog_list_projects` lists the projects with their numbers"
_NUMBER = re.compile(r"[0-9]{1,9}")
_PLACE = re.compile(r"\{\w*\}|<\w+>")
"""A placeholder of an example."""


def _path(given: object) -> object:
    """Check a path of the API, and reduce a URL to its path."""
    if not isinstance(given, str):
        return given
    text = HOSTS.sub("", given.strip(), count=1)
    text = text if text.startswith("/") else f"/{text}"
    path = unquote(re.split(r"[?#]", text, maxsplit=1)[0])
    if not path.startswith(BEGINNING):
        raise ValueError(f"must begin with {BEGINNING}, such as /api/projects/1/actions/")
    if place := _PLACE.search(path):
        raise ValueError(f"fill in `{place[0]}`{PROJECTS if 'project' in place[0].lower() else ''}")
    if any(part in ("", ".", "..") for part in path.strip("/").split("/")) or not path.isprintable() or "\\" in path:
        raise ValueError("must be a plain path, without `..`, `//` or similar")
    return f"{path.rstrip('/')}/"


def _params(given: object) -> object:
    """Parse a query string or JSON text to an object."""
    if not isinstance(given, str):
        return given
    if not given.lstrip().startswith("{") and "=" in given:
        return dict(_pairs(given.strip().lstrip("?")))
    return from_json_text(given)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, max_num_fields=MOST_PARAMS)
    except ValueError as error:
        raise ValueError(TOO_MANY) from error


def _sendable(given: dict[str, Value]) -> dict[str, Value]:
    if any(isinstance(value, int | float) and not is_finite(value) for value in given.values()):
        raise ValueError("has a number that is too large")
    if len(urlencode(given, doseq=True)) > LONGEST_QUERY:
        raise ValueError(f"must have {LONGEST_QUERY:,} characters at most when encoded as a query")
    return given


class Get(Params):
    aliases: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("url", "endpoint", "uri"), "path"),
        **dict.fromkeys(("query", "parameters", "queryparams"), "params"),
    }
    path: Annotated[str, BeforeValidator(_path)] = Field(
        max_length=400, description="Begins with /api/.", examples=["/api/projects/12345/actions/"]
    )
    params: Annotated[dict[str, Value], BeforeValidator(_params), AfterValidator(_sendable)] = Field(
        default_factory=dict,
        max_length=MOST_PARAMS,
        description="Query parameters by name; a list repeats its name.",
        examples=[{"search": "checkout", "limit": 20}],
    )

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, given: object) -> object:
        """Merge parameters after a question mark, and those beside `params`, into `params`."""
        read = super()._normalise(given)  # type: ignore[operator]  # a proxy, which gives the function
        if not isinstance(read, dict) or not isinstance(path := read.get("path"), str):
            return read
        try:
            params = _params(read.get("params", {}))
        except ValueError:
            return read
        if not isinstance(params, dict):
            return read
        before, _, query = path.partition("?")
        beside = {name: value for name, value in read.items() if name in OF_PARAMS}
        rest = {name: value for name, value in read.items() if name not in OF_PARAMS}
        return {**rest, "path": before, "params": {**dict(_pairs(query)), **beside, **params}}


class Anything(Result):
    path: str
    body: object = Field(description="PostHog's response, with long parts cut.")
    next_params: Json | None = Field(
        default=None, description="Pass it as `params`, with the same path, for the next page."
    )
    notes: list[str] = Field(default=[])

    def text(self) -> str:
        following = more_follow("params", self.next_params) if self.next_params else ""
        parts = (f"GET {self.path}", *self.notes, _written(self.body), following)
        return "\n\n".join(part for part in parts if part)


@tool("Read anything else")
async def posthog_get(api: PosthogApi, ask: Get) -> Anything:
    """Read any path of PostHog's API that no other tool reads, with GET: actions, alerts, notebooks, members, ….

    `path` begins with /api/, usually /api/projects/{projectId}/…; `params` are the query. Lists accept `limit` and
    `offset`, histories `limit` and `page`. Examples: /api/projects/1/actions/, /api/projects/1/notebooks/,
    /api/projects/1/feature_flags/7/activity/, /api/organizations/@current/members/. Returns PostHog's own JSON, with
    long parts cut. It never changes anything: it only sends GET. Each path needs its own scope; the error names a
    missing one. Prefer the other tools if one fits.
    """
    try:
        with too_large_hint(LESS):
            body = await api.get(quote(ask.path, safe="/@$~:"), ask.params)
    except ToolFailed as failed:
        told = {NOT_THERE: NOTHING, NO_SUCH_PATH: NO_PATH}.get(failed.text)
        if told is None:
            raise
        raise ToolFailed("upstream_refused", told.format(ask.path)) from failed
    return _told(ask, body)


def _told(ask: Get, body: Any) -> Anything:
    page, kept, there = _page(body)
    shown, is_cut = fitted(page, ROOM_OF_BODY // 2)
    if len(_written(shown)) > ROOM_OF_TEXT:
        shown, is_cut = fitted(page, ROOM_OF_TEXT)
    following, notes = _following(ask, body, kept, there)
    return Anything(
        path=ask.path,
        body=shown,
        next_params=ask.params | following if following else None,
        notes=[*notes, *([CUT] if is_cut else [])],
    )


def _page(body: Any) -> tuple[Any, int, int]:
    """A list with as many items as fit, the number of those, and the number of all."""
    results = body.get("results") if isinstance(body, dict) else None
    if not isinstance(results, list):
        return body, 0, 0
    kept, room = 0, ROOM_OF_TEXT - 2_000
    for result in results:
        room -= len(_written(result)) + 2
        if room < 0 and kept >= FEWEST:
            break
        kept += 1
    rest = {name: value for name, value in body.items() if name not in ("next", "previous")}
    return rest | {"results": results[:kept]}, kept, len(results)


def _following(ask: Get, body: Any, kept: int, there: int) -> tuple[Json, list[str]]:
    """Parameters that change for the next page, taken from PostHog's link without using its host."""
    link = body.get("next") if isinstance(body, dict) else None
    linked = dict(parse_qsl(urlsplit(link).query)) if isinstance(link, str) else {}
    counted = {name: int(value) if _NUMBER.fullmatch(value) else value for name, value in linked.items()}
    if kept == there:
        return {name: value for name, value in counted.items() if str(ask.params.get(name)) != str(value)}, []
    early = ENDED_EARLY.format(kept=kept, of=there)
    if linked.keys() & {"page", "cursor"} or ask.params.keys() & {"page", "cursor"}:
        return {}, [SMALLER.format(early, kept)]
    return {"offset": _offset(ask) + kept}, [early]


def _offset(ask: Get) -> int:
    given = str(ask.params.get("offset", 0))
    return int(given) if _NUMBER.fullmatch(given) else 0


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

"""The tool for whatever of PostHog no other tool reads: any path of its API, by GET alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import parse_qsl, quote, unquote

from pydantic import BeforeValidator, Field, model_validator

from integrations.api import ToolFailed
from integrations.posthog.api import NOT_THERE, PosthogApi
from integrations.posthog.results import MOST_BYTES, fitted
from integrations.tool import Json, Params, Result, tool

HOSTS = re.compile(r"https?://[^/]+", re.IGNORECASE)
BEGINNING = "/api/"
MOST_PARAMS, ROOM_OF_TEXT, ROOM_OF_BODY = 50, 40_000, MOST_BYTES
FEWEST = 1
CUT = "Long parts are cut, as the … tells: ask for less, such as one object, or fewer with `limit`."
ENDED_EARLY = "These are the first {kept} of the {of} on this page: there was no room for more."
Value = str | int | float | bool | list[str | int | float | bool]


def _path(given: object) -> object:
    """What has to be a path of the API; a whole address is read as one."""
    if not isinstance(given, str):
        return given
    text = HOSTS.sub("", given.strip(), count=1)
    text = text if text.startswith("/") else f"/{text}"
    path = unquote(re.split(r"[?#]", text, maxsplit=1)[0])
    if not path.startswith(BEGINNING):
        raise ValueError(f"it begins with {BEGINNING}, such as /api/projects/1/actions/")
    if any(part in ("", ".", "..") for part in path.strip("/").split("/")) or not path.isprintable() or "\\" in path:
        raise ValueError("it is a plain path, without `..`, `//` or the like")
    return f"{path.rstrip('/')}/"


class Get(Params):
    also: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("url", "endpoint", "uri"), "path"),
        **dict.fromkeys(("query", "parameters", "queryparams", "search"), "params"),
    }
    path: Annotated[str, BeforeValidator(_path)] = Field(
        max_length=1_000, description="Begins with /api/.", examples=["/api/projects/12345/actions/"]
    )
    params: dict[str, Value] = Field(
        default_factory=dict,
        max_length=MOST_PARAMS,
        description="The query, by name; a list repeats its name.",
        examples=[{"search": "checkout", "limit": 20}],
    )

    @model_validator(mode="before")
    @classmethod
    def _query_of_the_path(cls, given: Any) -> Any:
        """What stands behind a question mark are parameters too."""
        path = given.get("path") if isinstance(given, dict) else None
        if not isinstance(path, str) or "?" not in path or not isinstance(given.get("params", {}), dict):
            return given
        before, _, query = path.partition("?")
        return {**given, "path": before, "params": {**dict(parse_qsl(query)), **(given.get("params") or {})}}


class Anything(Result):
    path: str
    body: object = Field(description="As PostHog gave it, long parts cut.")
    next_cursor: str | None = Field(default=None, description="Pass it as `offset` in `params` to go on.")
    notes: list[str] = Field(default=[])

    def text(self) -> str:
        following = (
            f'There are more: ask again with "offset": {self.next_cursor} in params.' if self.next_cursor else ""
        )
        body = _written(self.body)
        return "\n\n".join(each for each in (f"GET {self.path}", *self.notes, body, following) if each)


@tool("Read anything else")
async def posthog_get(api: PosthogApi, ask: Get) -> Anything:
    """Read any other path of PostHog's API with GET, where no other tool does: actions, alerts, notebooks, roles, ….

    `path` begins with /api/, mostly /api/projects/{projectId}/…, and `params` are its query. Lists take `limit` and
    `offset`. Examples: /api/projects/1/actions/, /api/projects/1/session_recordings/,
    /api/projects/1/feature_flags/7/activity/, /api/organizations/@current/members/. Comes back: PostHog's own JSON,
    long parts cut. It never changes anything: only GET is sent. Prefer the other tools where there is one.
    """
    try:
        body = await api.get(quote(ask.path, safe="/@$~:"), ask.params)
    except ToolFailed as failed:
        if failed.text != NOT_THERE:
            raise
        told = f"PostHog has nothing at {ask.path}, or the key may not know of it."
        raise ToolFailed("upstream_refused", told) from failed
    return _told(ask, body)


def _told(ask: Get, body: Any) -> Anything:
    page, notes = (body, list[str]()) if not isinstance(body, dict) else _page(body)
    shown, is_cut = fitted(page, ROOM_OF_BODY // 2)
    if len(_written(shown)) > ROOM_OF_TEXT:
        shown, is_cut = fitted(page, ROOM_OF_TEXT)
    kept = len(page["results"]) if isinstance(page, dict) and isinstance(page.get("results"), list) else 0
    more = isinstance(body, dict) and bool(body.get("next") or notes)
    return Anything(
        path=ask.path,
        body=shown,
        next_cursor=str(_offset(ask) + kept) if more and kept else None,
        notes=[*notes, *([CUT] if is_cut else [])],
    )


def _page(body: Json) -> tuple[Json, list[str]]:
    """Of a list as many as have room, whole."""
    results = body.get("results")
    if not isinstance(results, list):
        return body, []
    kept, room = 0, ROOM_OF_TEXT - 2_000
    for each in results:
        room -= len(_written(each)) + 2
        if room < 0 and kept >= FEWEST:
            break
        kept += 1
    told = {name: value for name, value in body.items() if name not in ("next", "previous")} | {
        "results": results[:kept]
    }
    return told, [] if kept == len(results) else [ENDED_EARLY.format(kept=kept, of=len(results))]


def _offset(ask: Get) -> int:
    given = str(ask.params.get("offset", 0))
    return int(given) if given.isdecimal() else 0


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

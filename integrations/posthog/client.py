"""Requests to PostHog's API, the project that they concern, and the meaning of its responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, quote, urlsplit

from integrations.errors import UnreadableResponse
from integrations.json_object import Json
from integrations.service_client import (
    CredentialRejected,
    RateLimited,
    Rejected,
    Reply,
    ServerTrouble,
    ServiceClient,
    ToolFailed,
    Verdict,
    too_large_hint,
)
from integrations.text import objects, one_line

ME, KEY = "/api/users/@me/", "/api/personal_api_keys/@current/"
SUCCESSES = (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED)
ESTIMATED_TOO_LONG = 512
PAGE_DIVISOR = 10
"""The divisor of the limit after a page that was too large."""
LONGEST_DETAIL = 700

NOT_FOUND = "PostHog found nothing at this address."
NO_SUCH_PATH = "PostHog's API has no such path."
NARROW_REQUEST = "Narrow the request, for example with `search`, or use `limit` 1."
NOT_ACCEPTED = (
    "PostHog at {base} does not accept this server's key. It may have been deleted{otherwise}. An admin has to give "
    "this server a key that is valid there."
)
OTHER_REGION = ", or belong to the other region ({base})"
US, EU = "https://us.posthog.com", "https://eu.posthog.com"
REGIONS = {US: EU, EU: US}
MISSING_SCOPE = (
    "This server's PostHog key lacks the scope `{scope}`. An admin has to add it to the key in PostHog under "
    "Settings > Personal API keys ({base}/settings/user-api-keys), or create a key that has it and give it to this "
    "server."
)
LIMITED_KEY = (
    "This server's PostHog key is limited to certain projects, and such keys may only read paths of projects. "
    "`posthog_list_projects` lists the projects."
)
OTHER_PROJECT = (
    "This server's PostHog key may not read that: {} `posthog_list_projects` lists the projects that it may read."
)
ONLY_IN_APP = "PostHog does not allow API keys to read this; it can only be seen in PostHog."
NOT_ALLOWED = "PostHog does not allow this: {} A key has the permissions of the person who created it."
QUERY_ABORTED = (
    "PostHog aborted the query: {} A shorter time range, fewer columns or a sample (`FROM events SAMPLE 0.1`) help."
)
IN_THE_APP = "It can be seen in PostHog."
SEVERAL_PROJECTS = "The key is limited to the projects {}: select one with `projectId`."
NO_CURRENT_PROJECT = (
    "The key's owner has no current project: select one with `projectId`; `posthog_list_projects` lists the projects."
)
_SCOPE = re.compile(r"missing required scope '([^']+)'")
_SECONDS = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    base: str
    """The base URL of the PostHog region."""

    def path(self, *steps: str) -> str:
        """A path of the API in this project, with the trailing slash that PostHog needs."""
        return "/".join(["/api/projects", self.id, *(quote(step, safe="@$") for step in steps), ""])

    def link(self, place: str = "") -> str:
        return f"{self.base}/project/{self.id}" + (f"/{place}" if place else "")


@dataclass(frozen=True, slots=True)
class ApiPage:
    items: list[Json]
    total: int | None
    next: int | None
    """The offset of the next page."""


class PosthogApi(ServiceClient):
    _default: Project | None = None

    def verdict(self, reply: Reply) -> Verdict:
        body: Json = reply.body if isinstance(reply.body, dict) else {}
        match reply.status:
            case status if status in SUCCESSES:
                return (
                    None if isinstance(reply.body, dict | list) else ServerTrouble(self.unexpected_response_text(reply))
                )
            case HTTPStatus.UNAUTHORIZED:
                return CredentialRejected(self._rejected_key_text())
            case HTTPStatus.TOO_MANY_REQUESTS:
                return RateLimited(_seconds(reply.headers))
            case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                return _query_error(reply, body) or ServerTrouble(self.unavailable_text(reply))
            case _:
                return self._rejection(reply, body)

    def _rejection(self, reply: Reply, body: Json) -> Verdict:
        detail = error_message(body)
        match reply.status:
            case HTTPStatus.NOT_FOUND:
                if "ndpoint not found" in detail:
                    return Rejected(NO_SUCH_PATH)
                return Rejected(f"{NOT_FOUND} {detail}" if "uery" in detail else NOT_FOUND)
            case HTTPStatus.FORBIDDEN:
                return Rejected(self._forbidden(detail))
            case HTTPStatus.BAD_REQUEST:
                where = f" (`{body['attr']}`)" if body.get("attr") else ""
                return Rejected(f"PostHog does not accept this{where}: {detail}", "invalid_arguments")
            case HTTPStatus.PAYMENT_REQUIRED:
                return Rejected(f"The plan of this PostHog organization does not allow this: {detail}")
            case _:
                return Rejected(f"PostHog refused the request ({_status_line(reply)}): {detail}")

    def _forbidden(self, detail: str) -> str:
        if match := _SCOPE.search(detail):
            return MISSING_SCOPE.format(scope=match[1], base=self.base_url)
        if "scoped projects" in detail:
            return LIMITED_KEY
        if "does not have access to the requested" in detail:
            return OTHER_PROJECT.format(detail)
        return ONLY_IN_APP if "personal API key access" in detail else NOT_ALLOWED.format(detail)

    def _rejected_key_text(self) -> str:
        other = REGIONS.get(self.base_url)
        return NOT_ACCEPTED.format(base=self.base_url, otherwise=OTHER_REGION.format(base=other) if other else "")

    async def project(self, number: str | None) -> Project:
        """The given project, or the key's own project."""
        if number:
            return Project(number, self.base_url)
        if self._default is None:
            self._default = Project(await self._load_default_project(), self.base_url)
        return self._default

    async def _load_default_project(self) -> str:
        projects = project_limits(await self.get(KEY))
        me: Json = {} if len(projects) == 1 else await self.get(ME)
        if default := default_project(projects, me):
            return default
        raise ToolFailed(
            "invalid_arguments", SEVERAL_PROJECTS.format(", ".join(projects)) if projects else NO_CURRENT_PROJECT
        )

    async def page(
        self, path: str, query: Mapping[str, object], limit: int, offset: int, *, if_too_large: str = NARROW_REQUEST
    ) -> ApiPage:
        """Read a page, or a smaller one if it is too large. `if_too_large` is the advice if that is too large too."""
        page_query = {**query, "limit": limit, "offset": offset or None}
        try:
            body = await self.get(path, page_query)
        except UnreadableResponse:
            with too_large_hint(if_too_large):
                body = await self.get(path, {**page_query, "limit": max(1, limit // PAGE_DIVISOR)})
        return self._parse_page(body, offset)

    def _parse_page(self, body: Json | list[object], offset: int) -> ApiPage:
        match body:
            case {"results": list(items), **rest}:
                total, following = rest.get("count"), rest.get("next")
                more = _offset_in(following, offset + len(items)) if following else None
                return ApiPage(objects(items), total if isinstance(total, int) else None, more)
            case list(items):
                return ApiPage(objects(items), None, None)
            case _:
                raise ToolFailed("upstream_unavailable", f"{self.title} did not return a list. Try again later.")

    def seconds_left(self) -> float:
        return self._http.seconds_left()

    async def pause(self, seconds: float) -> None:
        await self._pause(seconds)


def error_message(body: Json) -> str:
    """The message of an error, or of a failed query, as a sentence."""
    status = body.get("query_status")
    detail = (status or {}).get("error_message") if isinstance(status, dict) else body.get("detail")
    text = one_line(str(detail or body.get("code") or "PostHog gave no reason"))[:LONGEST_DETAIL]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def project_limits(key: Json) -> list[str]:
    """The projects that the key is limited to; empty if it is not limited."""
    return [str(project) for project in key.get("scoped_teams") or []]


def default_project(projects: list[str], me: Json) -> str | None:
    """The default project; None if a call must give one."""
    if len(projects) == 1:
        return projects[0]
    current = str((me.get("team") or {}).get("id") or "")
    return current if current and (not projects or current in projects) else None


def _offset_in(url: object, default: int) -> int:
    """The offset in a URL that is never followed, because it names a host."""
    value = parse_qs(urlsplit(str(url)).query).get("offset", [""])[0]
    return int(value) if _SECONDS.fullmatch(value) else default


def _query_error(reply: Reply, body: Json) -> Rejected | None:
    """The error for a query that would fail again."""
    detail = error_message(body)
    if "query_status" in body:
        return Rejected(f"PostHog could not run the query: {detail}")
    if reply.status == ESTIMATED_TOO_LONG or "max execution time" in detail or "max memory limit" in detail:
        return Rejected(QUERY_ABORTED.format(detail))
    return None


def _status_line(reply: Reply) -> str:
    return f"{reply.status} {reply.reason}".strip()


def _seconds(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "")
    return float(value) if _SECONDS.fullmatch(value) else None

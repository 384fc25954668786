"""A fake HubSpot API with a small account. It is read-only and follows the vendor's contract."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from demo.oauth_provider.http import Json, Request, Response, json_response
from demo.oauth_provider.tenant import Tenant
from demo.oauth_provider.vendors.base import number_of
from demo.services.hubspot.data import ASSOCIATIONS, KINDS, OWNERS, PIPELINES, RECORDS
from demo.services.hubspot.properties import definitions
from demo.services.hubspot.search import BadSearch, search

VERSIONS = "2026-09|2026-03"
OBJECT = re.compile(rf"/crm/objects/(?:{VERSIONS})/(contacts|companies|deals)(?:/([^/]+))?")
OWNER = re.compile(rf"/crm/owners/(?:{VERSIONS})(?:/([^/]+))?")
DEFINITIONS = re.compile(rf"/crm/properties/(?:{VERSIONS})/(contacts|companies|deals)")
STAGES = re.compile(rf"/crm/pipelines/(?:{VERSIONS})/deals")
LIST = {"limit", "after", "properties", "propertiesWithHistory", "associations", "archived"}
GET = {"properties", "propertiesWithHistory", "associations", "archived", "idProperty"}
SEARCH = {"query", "limit", "after", "properties", "sorts", "filterGroups"}
ALWAYS = {
    "contacts": ("createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname"),
    "companies": ("createdate", "domain", "hs_lastmodifieddate", "hs_object_id", "name"),
    "deals": (
        "amount",
        "closedate",
        "createdate",
        "dealname",
        "dealstage",
        "hs_lastmodifieddate",
        "hs_object_id",
        "pipeline",
    ),
}
MAX_URL = 8_000


class HubSpotError(Exception):
    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


class FakeHubSpot:
    """Tests may change `records` and `owners` and inject API errors."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.records: dict[str, list[Json]] = json.loads(json.dumps(RECORDS))
        self.owners: list[Json] = json.loads(json.dumps(OWNERS))
        self.association_overrides: dict[tuple[str, str], list[str]] = {}
        """Associated ids by record id and kind, instead of the default data."""
        self.includes_urls = True
        self.domain = "app-eu1.hubspot.com"
        self.hidden_path = ""
        """The prefix of paths that the connected user may not access."""
        self.writes: list[str] = []
        self.before_response: Callable[[Request], object] = lambda _: None
        """A callback that runs before each response."""
        self._limited: list[tuple[str, int]] = []

    def rate_limit(self, times: int, policy: str = "TEN_SECONDLY_ROLLING") -> None:
        """Rate limits the next requests."""
        self._limited += [(policy, 429)] * times

    def lock_records(self, times: int = 1) -> None:
        self._limited += [("", 423)] * times

    def respond(self, request: Request) -> Response:
        self.before_response(request)
        try:
            return self._route(request)
        except HubSpotError as refused:
            return refused.response

    def _route(self, request: Request) -> Response:
        if len(request.path) + len(request.query_text) > MAX_URL:
            return Response(414, b"<html>URI Too Long</html>", {"Content-Type": "text/html"})
        self._check_access(request)
        self._check_method(request)
        if match := OBJECT.fullmatch(request.path):
            return self._object(request, match[1], match[2])
        if match := OWNER.fullmatch(request.path):
            return self._owner(request, match[1])
        if match := DEFINITIONS.fullmatch(request.path):
            self._check_scope(request, match[1])
            return json_response({"results": list(definitions(match[1], self.records[match[1]]))})
        if STAGES.fullmatch(request.path):
            self._check_scope(request, "deals")
            return json_response({"results": PIPELINES})
        return error_response(404, "The requested resource is not found.", "OBJECT_NOT_FOUND")

    def _object(self, request: Request, kind: str, one: str | None) -> Response:
        self._check_scope(request, kind)
        if one == "search":
            return self._search(request, kind)
        return self._get(request, kind, one) if one else self._page(request, kind)

    def _page(self, request: Request, kind: str) -> Response:
        query = check_names(request.query, LIST)
        limit = parse_integer(query.get("limit", "10"), 1, 100)
        there = [record for record in self.records[kind] if record["archived"] == parse_archived(query)]
        start = int(query.get("after", "0")) if query.get("after", "0").isdecimal() else -1
        if start < 0:
            raise HubSpotError(error_response(400, "Invalid 'after' value.", "VALIDATION_ERROR"))
        later = [record for record in there if int(record["id"]) > start - 1] if start else there
        page = [self._rendered(kind, item, query) for item in later[:limit]]
        rest = [item["id"] for item in later[limit:]]
        more = {"paging": {"next": {"after": rest[0], "link": "https://api.hubapi.com/…"}}} if rest else {}
        return json_response({"results": page, **more})

    def _get(self, request: Request, kind: str, one: str) -> Response:
        query = check_names(request.query, GET)
        by = query.get("idProperty", "hs_object_id")
        if by not in ("hs_object_id", "email") or (by == "email" and kind != "contacts"):
            raise HubSpotError(error_response(400, f"{by} is not a unique property of {kind}.", "VALIDATION_ERROR"))
        for record in self.records[kind]:
            if record["properties"].get(by) == one and record["archived"] == parse_archived(query):
                return json_response(self._rendered(kind, record, query))
        return error_response(404, f"Object not found.  objectId are usually numeric. ({one})", "OBJECT_NOT_FOUND")

    def _search(self, request: Request, kind: str) -> Response:
        if request.media_type != "application/json":
            return error_response(415, "Content-Type has to be application/json.", "VALIDATION_ERROR")
        body = check_names(request.fields, SEARCH)
        try:
            result, total, after = search(self.records[kind], kind, body)
        except BadSearch as bad:
            return error_response(400, str(bad), "VALIDATION_ERROR")
        chosen = {"properties": ",".join(body.get("properties", ()))}
        page = [self._rendered(kind, item, chosen) for item in result]
        more = {"paging": {"next": {"after": after, "link": "https://api.hubapi.com/…"}}} if after else {}
        return json_response({"total": total, "results": page, **more})

    def _owner(self, request: Request, one: str | None) -> Response:
        self._check_scope(request, "owners")
        query = check_names(
            request.query, {"idProperty", "archived"} if one else {"limit", "after", "email", "archived"}
        )
        there = [owner for owner in self.owners if owner["archived"] == parse_archived(query)]
        if one:
            by = query.get("idProperty", "id")
            match = next((record for record in there if str(record[by]) == one), None)
            return json_response(match) if match else error_response(404, f"No owner {one}.", "OBJECT_NOT_FOUND")
        there = [record for record in there if query.get("email", record["email"]) == record["email"]]
        limit, start = (
            parse_integer(query.get("limit", "100"), 1, 500),
            parse_integer(query.get("after", "0"), 0, 10**9),
        )
        more = {"paging": {"next": {"after": str(start + limit)}}} if len(there) > start + limit else {}
        return json_response({"results": there[start : start + limit], **more})

    def _rendered(self, kind: str, record: Json, query: Mapping[str, Any]) -> Json:
        requests = [name for name in query.get("properties", "").split(",") if name]
        known_names = {definition["name"] for definition in definitions(kind, self.records[kind])}
        names = [name for name in dict.fromkeys([*ALWAYS[kind], *requests]) if name in known_names]
        url = f"https://{self.domain}/contacts/{self._portal}/record/{KINDS[kind]}/{record['id']}"
        related = [item for item in query.get("associations", "").split(",") if item]
        return {
            **{name: record[name] for name in ("id", "createdAt", "updatedAt", "archived")},
            "properties": {name: record["properties"].get(name) for name in names},
            **({"associations": result} if (result := self._associations(kind, record["id"], related)) else {}),
            **({"url": url} if self.includes_urls else {}),
        }

    def _associations(self, kind: str, one: str, related: list[str]) -> Json:
        by_name = {
            other: self.association_overrides.get((one, other)) or ASSOCIATIONS(kind, one, other) for other in related
        }
        return {
            other: {"results": [{"id": id_, "type": f"{kind}_to_{other}"} for id_ in ids for _ in range(2)]}
            for other, ids in by_name.items()
            if ids
        }

    @property
    def _portal(self) -> int:
        return number_of(self.tenant.behaviour.workspace)

    def _check_access(self, request: Request) -> None:
        """Refuses a request without a valid token, over the rate limit, or to a hidden path."""
        if self.tenant.grants.valid_token(request.bearer) is None:
            is_expired = self.tenant.grants.condition(request.bearer) == "expired"
            category = "EXPIRED_AUTHENTICATION" if is_expired else "INVALID_AUTHENTICATION"
            raise HubSpotError(error_response(401, "The OAuth token used to make this call is no good.", category))
        if self._limited:
            policy, status = self._limited.pop(0)
            raise HubSpotError(
                _limited(policy) if status == 429 else error_response(423, "Locked for a moment.", "RESOURCE_LOCKED")
            )
        if self.hidden_path and request.path.startswith(self.hidden_path):
            raise HubSpotError(error_response(403, "You do not have permissions to view this object.", "FORBIDDEN"))

    def _check_scope(self, request: Request, kind: str) -> None:
        token, scope = self.tenant.grants.valid_token(request.bearer), f"crm.objects.{kind}.read"
        if token is None or scope not in token.family.scopes:
            problem = {
                "message": "One or more of the following scopes are required.",
                "context": {"requiredGranularScopes": [scope, f"crm.objects.{kind}.write"]},
            }
            text = "This app hasn't been granted all required scopes to make this call."
            raise HubSpotError(error_response(403, text, "MISSING_SCOPES", errors=[problem]))

    def _check_method(self, request: Request) -> None:
        """Refuses writes. A search is a POST and a read."""
        if request.method == ("POST" if request.path.endswith("/search") else "GET"):
            return
        self.writes.append(f"{request.method} {request.path}")
        raise HubSpotError(error_response(405, "This account is only ever read.", "METHOD_NOT_ALLOWED"))


def error_response(status: int, message: str, category: str, **more: Any) -> Response:
    fields = {"status": "error", "message": message, "correlationId": "c0ffee", "category": category, **more}
    return json_response(fields, status)


def _limited(policy: str) -> Response:
    fields = {
        "status": "error",
        "message": f"You have reached your {policy.lower()} limit.",
        "errorType": "RATE_LIMIT",
        "correlationId": "c0ffee",
        "policyName": policy,
        "requestId": "fee",
    }
    return json_response(fields, 429)


def check_names(fields: Mapping[str, Any], names: set[str]) -> Mapping[str, Any]:
    if unknown := sorted(fields.keys() - names):
        raise HubSpotError(
            error_response(400, f"Invalid input JSON or query: unknown field {unknown[0]}", "VALIDATION_ERROR")
        )
    return fields


def parse_integer(text: object, least: int, most: int) -> int:
    if not str(text).isdecimal() or not least <= int(str(text)) <= most:
        raise HubSpotError(error_response(400, f"{text} is not between {least} and {most}.", "VALIDATION_ERROR"))
    return int(str(text))


def parse_archived(query: Mapping[str, str]) -> bool:
    if query.get("archived", "false") not in ("true", "false"):
        raise HubSpotError(error_response(400, "archived is true or false.", "VALIDATION_ERROR"))
    return query.get("archived") == "true"

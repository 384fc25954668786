"""A fake of Notion's API, version 2025-09-03, with the workspace of a small company."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from demo.oauth_provider.http import Request, Response, json_response
from demo.oauth_provider.tenant import Tenant
from demo.services.notion.data import demo_store
from demo.services.notion.filters import check_filter
from demo.services.notion.query import matching
from demo.services.notion.rules import (
    MAX_BYTES,
    NotionError,
    check_blocks,
    check_id,
    check_keys,
    empty_values,
    error,
    invalid,
    require,
    stored_values,
)
from demo.services.notion.store import NOW, Json, Store, id_of, plain, user

VERSIONS = ("2025-09-03",)
ID = r"([0-9a-f-]{32,36})"
PAGED = {"start_cursor", "page_size"}
WORDS: Mapping[str, str] = {"pages": "page", "databases": "database", "data_sources": "data source", "blocks": "block"}
ICON = {"type", "emoji"}
BOT: Json = {"object": "user", "id": id_of("bot"), "name": "Plugboard", "avatar_url": None, "type": "bot", "bot": {}}

Work = Callable[..., Response]


@dataclass
class FakeNotion:
    """Tests may change its data, the capabilities of the connection, and the next responses."""

    tenant: Tenant
    store: Store = field(default_factory=demo_store)
    capabilities: set[str] = field(default_factory=lambda: {"read", "insert", "update", "users"})
    next_responses: list[Response] = field(default_factory=list)
    """Responses that replace the next requests."""
    responses_after: list[Response] = field(default_factory=list)
    """Responses to the next writes, which are executed nevertheless."""
    before: Callable[[Request], None] = lambda _: None
    """A callback that runs before each request."""
    incomplete: bool = False
    """Searches and queries report that they are incomplete."""
    writes_done: list[str] = field(default_factory=list)
    """The executed writes."""

    def rate_limit(
        self, seconds: int | None = 1, times: int = 1, reason: str = "public_api_request_rate_limit"
    ) -> None:
        waiting = {} if seconds is None else {"Retry_After": str(seconds)}
        message = "You have been rate limited. Please try again in a few minutes."
        response = error(429, "rate_limited", message, {"rate_limit_reason": reason}, **waiting)
        self.next_responses += [response] * times

    def overload(self, times: int = 1, seconds: int = 1) -> None:
        response = error(529, "service_overload", "Notion is overloaded.", Retry_After=str(seconds))
        self.next_responses += [response] * times

    def respond(self, request: Request) -> Response:
        self.before(request)
        try:
            self._admit(request)
            if self.next_responses:
                return self.next_responses.pop(0)
            return self._work(request)
        except NotionError as refused:
            return refused.response

    def _admit(self, request: Request) -> None:
        if self.tenant.grants.valid_token(request.bearer) is None:
            raise NotionError(error(401, "unauthorized", "API token is invalid."))
        version = request.headers.get("notion-version")
        if version is None:
            raise NotionError(error(400, "missing_version", "Notion-Version header should be defined."))
        require(version in VERSIONS, f"Notion-Version header should be one of {VERSIONS}, instead was `{version}`.")
        if request.body:
            require(request.media_type == "application/json", "Content-Type should be `application/json`.")
            require(len(request.body) <= MAX_BYTES, "Request body is larger than 500 kB.")

    def _work(self, request: Request) -> Response:
        for (method, pattern), (needed, work) in self._routes.items():
            match = re.fullmatch(pattern, request.path)
            if match and request.method == method:
                if needed not in self.capabilities:
                    raise NotionError(
                        error(403, "restricted_resource", f"Insufficient permissions for this endpoint ({needed}).")
                    )
                answer = work(request, *match.groups())
                return self._after(request, answer)
        raise NotionError(error(400, "invalid_request_url", "Invalid request URL."))

    def _after(self, request: Request, response: Response) -> Response:
        is_write = request.method == "PATCH" or request.path == "/v1/pages"
        if not is_write:
            return response
        self.writes_done.append(f"{request.method} {request.path}")
        return self.responses_after.pop(0) if self.responses_after else response

    @property
    def _routes(self) -> Mapping[tuple[str, str], tuple[str, Work]]:
        return {
            ("GET", rf"/v1/(pages|databases|data_sources|blocks)/{ID}"): ("read", self._get),
            ("GET", rf"/v1/blocks/{ID}/children"): ("read", self._children),
            ("GET", rf"/v1/pages/{ID}/properties/([^/]+)"): ("read", self._values),
            ("GET", r"/v1/users"): ("users", self._people),
            ("POST", r"/v1/search"): ("read", self._search),
            ("POST", rf"/v1/data_sources/{ID}/query"): ("read", self._query),
            ("POST", r"/v1/pages"): ("insert", self._create),
            ("PATCH", rf"/v1/pages/{ID}"): ("update", self._update),
            ("PATCH", rf"/v1/blocks/{ID}/children"): ("insert", self._append),
        }

    def _get(self, request: Request, group: str, of: str) -> Response:
        check_keys(request.query, {"filter_properties"} if group == "pages" else set(), "query")
        return json_response(self._existing(of, WORDS[group].replace(" ", "_")))

    def _existing(self, of: str, *kinds: str) -> Json:
        check_id(of, "path")
        result = self.store.shared(of, *kinds)
        other = self.store.shared(of, "page", "database", "data_source")
        word = kinds[0].replace("_", " ")
        if result is None and other and kinds == ("page",) and other["object"] == "database":
            raise invalid(
                f"Provided ID {of} is a database, not a page. Use the retrieve database API instead: "
                "https://developers.notion.com/reference/retrieve-a-database"
            )
        if result is None and other and kinds == ("database",) and other["object"] == "page":
            raise invalid(
                f"Provided ID {of} is a page, not a database. Use the retrieve page API instead: "
                "https://developers.notion.com/reference/retrieve-a-page"
            )
        if result is None and other and kinds == ("data_source",):
            raise NotionError(error(400, "invalid_request_url", "Invalid request URL."))
        if result is None:
            shared = "Make sure the relevant pages and databases are shared with your integration."
            message = f"Could not find {word} with ID: {of}. {shared}"
            raise NotionError(error(404, "object_not_found", message))
        return result

    def _editable(self, object_: Json) -> None:
        archived = "Can't edit block that is archived. You must unarchive the block before editing."
        require(not self.store.in_trash(object_["id"]), archived)

    def _children(self, request: Request, of: str) -> Response:
        check_keys(request.query, PAGED, "query")
        self._existing(of, "block", "page")
        return json_response(self._list_response(self.store.blocks_in(of), request.query, "block"))

    def _values(self, request: Request, of: str, named: str) -> Response:
        check_keys(request.query, PAGED, "query")
        page = self._existing(of, "page")
        match = next((value for value in page["properties"].values() if unquote(value["id"]) == named), None)
        require(match, f"Could not find property with name or id: {named}")
        assert match
        rows = [{"object": "property_item", "id": item["id"], "relation": item} for item in match["all"]]
        return json_response(self._list_response(rows, request.query, "property_item"))

    def _people(self, request: Request) -> Response:
        check_keys(request.query, PAGED, "query")
        people = [user(of) | {"name": name} for of, name in self.store.users.items()]
        people = [
            person | {"person": {"email": f"{person['name'].split()[0].lower()}@acme.example.com"}} for person in people
        ]
        return json_response(self._list_response([*people, BOT], request.query, "user"))

    def _search(self, request: Request) -> Response:
        body = self._body(request, {"query", "filter", "sort", *PAGED})
        wanted = body.get("filter") or {"value": None}
        require(
            wanted["value"] in (None, "page", "data_source"), 'body.filter.value should be `"page"` or `"data_source"`.'
        )
        words = str(body.get("query") or "").lower().split()
        results = [
            item
            for item in self.store.objects_of_kind(*([wanted["value"]] if wanted["value"] else ["page", "data_source"]))
            if all(word in _title(item).lower() for word in words)
        ]
        is_up = (body.get("sort") or {}).get("direction") == "ascending"
        results.sort(key=lambda value: value["last_edited_time"], reverse=not is_up)
        return json_response(self._list_response(results, body, "page_or_data_source") | self._status())

    def _query(self, request: Request, of: str) -> Response:
        body = self._body(request, {"filter", "sorts", "in_trash", "result_type", *PAGED})
        properties = self._existing(of, "data_source")["properties"]
        if "filter" in body:
            check_filter(body["filter"], properties)
        for item in body.get("sorts", []):
            check_keys(item, {"property", "timestamp", "direction"}, "sorts")
            is_known = "timestamp" in item or item.get("property") in properties
            require(is_known, f"Could not find sort property with name or id: {item.get('property')}")
        pages = [item for item in self.store.objects_of_kind("page") if item["parent"].get("data_source_id") == of]
        kept = [page_ for page_ in pages if not page_["in_trash"]]
        result = matching(kept, body.get("filter"), body.get("sorts", []))
        return json_response(self._list_response(result, body, "page_or_data_source") | self._status())

    def _create(self, request: Request) -> Response:
        body = self._body(request, {"parent", "properties", "children", "icon", "cover"})
        check_keys(body.get("icon") or {}, ICON, "icon")
        parent = body.get("parent") or {}
        check_keys(parent, {"type", "page_id", "data_source_id", "database_id", "workspace"}, "parent")
        if "children" in body:
            check_blocks(body["children"])
        page = self._create_page(parent, body.get("properties") or {})
        page["icon"] = body.get("icon")
        for item in body.get("children", []):
            self.store.block(page["id"], item)
        return json_response(page)

    def _create_page(self, parent: Json, arguments: Json) -> Json:
        of = self.store.next_id()
        if "data_source_id" in parent:
            source = self._existing(parent["data_source_id"], "data_source")
            values = stored_values(arguments, source["properties"])
            whole = {**parent, "database_id": source["parent"]["database_id"]}
            return self.store.page(of, whole, empty_values(source["properties"]) | values)
        if "page_id" in parent:
            self._editable(self._existing(parent["page_id"], "page"))
        require(
            "page_id" in parent or parent.get("workspace") is True, "body failed validation: body.parent should be …"
        )
        values = stored_values(arguments, {"title": {"id": "title", "type": "title", "title": {}}})
        return self.store.plain_page(of, parent, plain(values["title"]["title"]))

    def _update(self, request: Request, of: str) -> Response:
        body = self._body(request, {"properties", "in_trash", "icon", "cover", "is_locked"})
        check_keys(body.get("icon") or {}, ICON, "icon")
        page = self._existing(of, "page")
        if body.get("in_trash") is not False:
            self._editable(page)
        source = self.store.objects.get(page["parent"].get("data_source_id", ""))
        page["properties"] |= stored_values(body.get("properties") or {}, (source or page)["properties"])
        if "in_trash" in body:
            page["in_trash"] = page["archived"] = body["in_trash"]
        page["icon"] = body.get("icon", page["icon"])
        page["last_edited_time"] = NOW
        return json_response(page)

    def _append(self, request: Request, of: str) -> Response:
        body = self._body(request, {"children", "after"})
        self._editable(self._existing(of, "block", "page"))
        require(body.get("children"), "body failed validation: body.children should be defined.")
        check_blocks(body["children"])
        after, created = body.get("after", ""), list[Json]()
        here = self.store.children.get(of, [])
        require(not after or after in here, f"Could not find block with ID: {after} among the children.")
        for child in body["children"]:
            created.append(self.store.block(of, child, after=after))
            after = created[-1]["id"] if after else ""
        return json_response(
            {"object": "list", "results": created, "has_more": False, "next_cursor": None, "type": "block", "block": {}}
        )

    def _body(self, request: Request, allowed: set[str]) -> Json:
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            raise NotionError(error(400, "invalid_json", "Error parsing JSON body.")) from None
        check_keys(request.query, set(), "query")
        check_keys(body, allowed)
        parsed: Json = body
        return parsed

    def _list_response(self, value: Sequence[Json], requested: Mapping[str, Any], kind: str) -> Json:
        size = int(requested.get("page_size", 100))
        require(1 <= size <= 100, f"page_size should be ≤ `100`, instead was `{size}`.")
        cursor = requested.get("start_cursor")
        ids = [item["id"] for item in value]
        require(cursor is None or cursor in ids, f"The start_cursor provided is invalid: {cursor}")
        start = ids.index(cursor) if cursor else 0
        more = ids[start + size] if len(ids) > start + size else None
        page = list(value[start : start + size])
        return {"object": "list", "results": page, "has_more": bool(more), "next_cursor": more, "type": kind, kind: {}}

    def _status(self) -> Json:
        if not self.incomplete:
            return {"request_status": {"type": "complete"}}
        return {"request_status": {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}}


def _title(object_: Json) -> str:
    if object_["object"] == "data_source":
        return plain(object_["title"])
    return next((plain(value["title"]) for value in object_["properties"].values() if value["type"] == "title"), "")

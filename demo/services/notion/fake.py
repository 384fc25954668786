"""Notion's API, of version 2025-09-03: strict where Notion is, with a small company's pages in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from demo.oauth_provider.http import Answer, Request, said
from demo.oauth_provider.tenant import Tenant
from demo.services.notion.data import furnished
from demo.services.notion.filters import check_filter
from demo.services.notion.query import matching
from demo.services.notion.rules import (
    MAX_BYTES,
    Refused,
    at_first,
    check_blocks,
    check_id,
    demand,
    error,
    invalid,
    keys,
    shown_values,
)
from demo.services.notion.store import NOW, Json, Store, id_of, plain, user

VERSIONS = ("2025-09-03",)
ID = r"([0-9a-f-]{32,36})"
PAGED = {"start_cursor", "page_size"}
WORDS: Mapping[str, str] = {"pages": "page", "databases": "database", "data_sources": "data source", "blocks": "block"}
ICON = {"type", "emoji"}
BOT: Json = {"object": "user", "id": id_of("bot"), "name": "Plugboard", "avatar_url": None, "type": "bot", "bot": {}}

Work = Callable[..., Answer]


@dataclass
class World:
    """Tests change it: what it holds, what the connection may do, and what it answers to the next requests."""

    tenant: Tenant
    store: Store = field(default_factory=furnished)
    capabilities: set[str] = field(default_factory=lambda: {"read", "insert", "update", "users"})
    next_answers: list[Answer] = field(default_factory=list)
    """Given instead of any work, one to a request."""
    answers_after: list[Answer] = field(default_factory=list)
    """Given after a write that was carried out all the same, one to a write."""
    before: Callable[[Request], None] = lambda _: None
    """Called with each request before anything else."""
    incomplete: bool = False
    """Searches and queries give up before they have seen everything."""
    done: list[str] = field(default_factory=list)
    """The writes that were carried out."""

    def limit(self, seconds: int | None = 1, times: int = 1, reason: str = "public_api_request_rate_limit") -> None:
        waiting = {} if seconds is None else {"Retry_After": str(seconds)}
        message = "You have been rate limited. Please try again in a few minutes."
        answer = error(429, "rate_limited", message, {"rate_limit_reason": reason}, **waiting)
        self.next_answers += [answer] * times

    def overload(self, times: int = 1, seconds: int = 1) -> None:
        answer = error(529, "service_overload", "Notion is overloaded.", Retry_After=str(seconds))
        self.next_answers += [answer] * times

    def answer(self, request: Request) -> Answer:
        self.before(request)
        try:
            self._admit(request)
            if self.next_answers:
                return self.next_answers.pop(0)
            return self._work(request)
        except Refused as refused:
            return refused.answer

    def _admit(self, request: Request) -> None:
        if self.tenant.grants.good(request.bearer) is None:
            raise Refused(error(401, "unauthorized", "API token is invalid."))
        version = request.headers.get("notion-version")
        if version is None:
            raise Refused(error(400, "missing_version", "Notion-Version header should be defined."))
        demand(version in VERSIONS, f"Notion-Version header should be one of {VERSIONS}, instead was `{version}`.")
        if request.body:
            demand(request.kind == "application/json", "Content-Type should be `application/json`.")
            demand(len(request.body) <= MAX_BYTES, "Request body is larger than 500 kB.")

    def _work(self, request: Request) -> Answer:
        for (method, pattern), (needed, work) in self._routes.items():
            found = re.fullmatch(pattern, request.path)
            if found and request.method == method:
                if needed not in self.capabilities:
                    raise Refused(
                        error(403, "restricted_resource", f"Insufficient permissions for this endpoint ({needed}).")
                    )
                answer = work(request, *found.groups())
                return self._after(request, answer)
        raise Refused(error(400, "invalid_request_url", "Invalid request URL."))

    def _after(self, request: Request, answer: Answer) -> Answer:
        is_write = request.method == "PATCH" or request.path == "/v1/pages"
        if not is_write:
            return answer
        self.done.append(f"{request.method} {request.path}")
        return self.answers_after.pop(0) if self.answers_after else answer

    @property
    def _routes(self) -> Mapping[tuple[str, str], tuple[str, Work]]:
        return {
            ("GET", rf"/v1/(pages|databases|data_sources|blocks)/{ID}"): ("read", self._one),
            ("GET", rf"/v1/blocks/{ID}/children"): ("read", self._children),
            ("GET", rf"/v1/pages/{ID}/properties/([^/]+)"): ("read", self._values),
            ("GET", r"/v1/users"): ("users", self._people),
            ("POST", r"/v1/search"): ("read", self._search),
            ("POST", rf"/v1/data_sources/{ID}/query"): ("read", self._query),
            ("POST", r"/v1/pages"): ("insert", self._create),
            ("PATCH", rf"/v1/pages/{ID}"): ("update", self._update),
            ("PATCH", rf"/v1/blocks/{ID}/children"): ("insert", self._append),
        }

    def _one(self, request: Request, group: str, of: str) -> Answer:
        keys(request.query, {"filter_properties"} if group == "pages" else set(), "query")
        return said(self._there(of, WORDS[group].replace(" ", "_")))

    def _there(self, of: str, *kinds: str) -> Json:
        check_id(of, "path")
        found = self.store.shared(of, *kinds)
        other = self.store.shared(of, "page", "database", "data_source")
        word = kinds[0].replace("_", " ")
        if found is None and other and kinds == ("page",) and other["object"] == "database":
            raise invalid(
                f"Provided ID {of} is a database, not a page. Use the retrieve database API instead: "
                "https://developers.notion.com/reference/retrieve-a-database"
            )
        if found is None and other and kinds == ("database",) and other["object"] == "page":
            raise invalid(
                f"Provided ID {of} is a page, not a database. Use the retrieve page API instead: "
                "https://developers.notion.com/reference/retrieve-a-page"
            )
        if found is None and other and kinds == ("data_source",):
            raise Refused(error(400, "invalid_request_url", "Invalid request URL."))
        if found is None:
            shared = "Make sure the relevant pages and databases are shared with your integration."
            message = f"Could not find {word} with ID: {of}. {shared}"
            raise Refused(error(404, "object_not_found", message))
        return found

    def _editable(self, found: Json) -> None:
        archived = "Can't edit block that is archived. You must unarchive the block before editing."
        demand(not self.store.in_trash(found["id"]), archived)

    def _children(self, request: Request, of: str) -> Answer:
        keys(request.query, PAGED, "query")
        self._there(of, "block", "page")
        return said(self._listed(self.store.blocks_in(of), request.query, "block"))

    def _values(self, request: Request, of: str, named: str) -> Answer:
        keys(request.query, PAGED, "query")
        page = self._there(of, "page")
        found = next((each for each in page["properties"].values() if unquote(each["id"]) == named), None)
        demand(found, f"Could not find property with name or id: {named}")
        assert found
        rows = [{"object": "property_item", "id": each["id"], "relation": each} for each in found["all"]]
        return said(self._listed(rows, request.query, "property_item"))

    def _people(self, request: Request) -> Answer:
        keys(request.query, PAGED, "query")
        people = [user(of) | {"name": name} for of, name in self.store.users.items()]
        people = [
            each | {"person": {"email": f"{each['name'].split()[0].lower()}@acme.example.com"}} for each in people
        ]
        return said(self._listed([*people, BOT], request.query, "user"))

    def _search(self, request: Request) -> Answer:
        body = self._body(request, {"query", "filter", "sort", *PAGED})
        wanted = body.get("filter") or {"value": None}
        demand(
            wanted["value"] in (None, "page", "data_source"), 'body.filter.value should be `"page"` or `"data_source"`.'
        )
        words = str(body.get("query") or "").lower().split()
        found = [
            each
            for each in self.store.of_kind(*([wanted["value"]] if wanted["value"] else ["page", "data_source"]))
            if all(word in _title(each).lower() for word in words)
        ]
        is_up = (body.get("sort") or {}).get("direction") == "ascending"
        found.sort(key=lambda each: each["last_edited_time"], reverse=not is_up)
        return said(self._listed(found, body, "page_or_data_source") | self._status())

    def _query(self, request: Request, of: str) -> Answer:
        body = self._body(request, {"filter", "sorts", "in_trash", "result_type", *PAGED})
        properties = self._there(of, "data_source")["properties"]
        if "filter" in body:
            check_filter(body["filter"], properties)
        for each in body.get("sorts", []):
            keys(each, {"property", "timestamp", "direction"}, "sorts")
            is_known = "timestamp" in each or each.get("property") in properties
            demand(is_known, f"Could not find sort property with name or id: {each.get('property')}")
        pages = [each for each in self.store.of_kind("page") if each["parent"].get("data_source_id") == of]
        kept = [each for each in pages if not each["in_trash"]]
        found = matching(kept, body.get("filter"), body.get("sorts", []))
        return said(self._listed(found, body, "page_or_data_source") | self._status())

    def _create(self, request: Request) -> Answer:
        body = self._body(request, {"parent", "properties", "children", "icon", "cover"})
        keys(body.get("icon") or {}, ICON, "icon")
        parent = body.get("parent") or {}
        keys(parent, {"type", "page_id", "data_source_id", "database_id", "workspace"}, "parent")
        if "children" in body:
            check_blocks(body["children"])
        page = self._made(parent, body.get("properties") or {})
        page["icon"] = body.get("icon")
        for each in body.get("children", []):
            self.store.block(page["id"], each)
        return said(page)

    def _made(self, parent: Json, given: Json) -> Json:
        of = self.store.next_id()
        if "data_source_id" in parent:
            source = self._there(parent["data_source_id"], "data_source")
            values = shown_values(given, source["properties"])
            whole = {**parent, "database_id": source["parent"]["database_id"]}
            return self.store.page(of, whole, at_first(source["properties"]) | values)
        if "page_id" in parent:
            self._editable(self._there(parent["page_id"], "page"))
        demand(
            "page_id" in parent or parent.get("workspace") is True, "body failed validation: body.parent should be …"
        )
        values = shown_values(given, {"title": {"id": "title", "type": "title", "title": {}}})
        return self.store.plain_page(of, parent, plain(values["title"]["title"]))

    def _update(self, request: Request, of: str) -> Answer:
        body = self._body(request, {"properties", "in_trash", "icon", "cover", "is_locked"})
        keys(body.get("icon") or {}, ICON, "icon")
        page = self._there(of, "page")
        if body.get("in_trash") is not False:
            self._editable(page)
        source = self.store.objects.get(page["parent"].get("data_source_id", ""))
        page["properties"] |= shown_values(body.get("properties") or {}, (source or page)["properties"])
        if "in_trash" in body:
            page["in_trash"] = page["archived"] = body["in_trash"]
        page["icon"] = body.get("icon", page["icon"])
        page["last_edited_time"] = NOW
        return said(page)

    def _append(self, request: Request, of: str) -> Answer:
        body = self._body(request, {"children", "after"})
        self._editable(self._there(of, "block", "page"))
        demand(body.get("children"), "body failed validation: body.children should be defined.")
        check_blocks(body["children"])
        after, made = body.get("after", ""), list[Json]()
        here = self.store.children.get(of, [])
        demand(not after or after in here, f"Could not find block with ID: {after} among the children.")
        for each in body["children"]:
            made.append(self.store.block(of, each, after=after))
            after = made[-1]["id"] if after else ""
        return said(
            {"object": "list", "results": made, "has_more": False, "next_cursor": None, "type": "block", "block": {}}
        )

    def _body(self, request: Request, allowed: set[str]) -> Json:
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            raise Refused(error(400, "invalid_json", "Error parsing JSON body.")) from None
        keys(request.query, set(), "query")
        keys(body, allowed)
        parsed: Json = body
        return parsed

    def _listed(self, found: Sequence[Json], asked: Mapping[str, Any], kind: str) -> Json:
        size = int(asked.get("page_size", 100))
        demand(1 <= size <= 100, f"page_size should be ≤ `100`, instead was `{size}`.")
        cursor = asked.get("start_cursor")
        ids = [each["id"] for each in found]
        demand(cursor is None or cursor in ids, f"The start_cursor provided is invalid: {cursor}")
        start = ids.index(cursor) if cursor else 0
        more = ids[start + size] if len(ids) > start + size else None
        page = list(found[start : start + size])
        return {"object": "list", "results": page, "has_more": bool(more), "next_cursor": more, "type": kind, kind: {}}

    def _status(self) -> Json:
        if not self.incomplete:
            return {"request_status": {"type": "complete"}}
        return {"request_status": {"type": "incomplete", "incomplete_reason": "query_result_limit_reached"}}


def _title(found: Json) -> str:
    if found["object"] == "data_source":
        return plain(found["title"])
    return next((plain(each["title"]) for each in found["properties"].values() if each["type"] == "title"), "")

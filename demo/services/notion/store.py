"""The objects of a fake Notion: pages, databases, data sources and blocks, as its API returns them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

NOW = "2026-11-18T12:00:00.000Z"
READ_ONLY = ("formula", "rollup", "created_time", "created_by", "last_edited_time", "last_edited_by", "unique_id")
MARKS = dict.fromkeys(("bold", "italic", "strikethrough", "underline", "code"), False) | {"color": "default"}
ADA = str(uuid.uuid5(uuid.NAMESPACE_URL, "notion-world/user/Ada"))
GRACE = str(uuid.uuid5(uuid.NAMESPACE_URL, "notion-world/user/Grace"))
USERS: Mapping[str, str] = {ADA: "Ada Lovelace", GRACE: "Grace Hopper"}
COLOURED: Json = {"color": "default"}
HEADING = COLOURED | {"is_toggleable": False}
AT_FIRST: Mapping[str, Json] = {
    **dict.fromkeys(("heading_1", "heading_2", "heading_3"), HEADING),
    **dict.fromkeys(("bulleted_list_item", "numbered_list_item", "toggle", "quote"), COLOURED),
    **dict.fromkeys(("paragraph", "callout"), COLOURED | {"icon": None}),
    "to_do": COLOURED | {"checked": False},
    "code": {"caption": []},
    "image": {"type": "external", "caption": []},
    "unsupported": {"block_type": "button"},
}
"""Default fields of blocks."""
PLAIN: Json = {"icon": None, "cover": None, "public_url": None}


def id_of(*names: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(("notion-world", *names))))


def address(of: str) -> str:
    return f"https://www.notion.so/{of.replace('-', '')}"


def rich(items: str | Sequence[Json]) -> list[Json]:
    """Converts rich text of a request to its form in responses."""
    if isinstance(items, str):
        items = [{"type": "text", "text": {"content": items}}]
    return [_rich(item) for item in items]


def _rich(item: Json) -> Json:
    kind = item.get("type") or next(name for name in ("text", "mention", "equation") if name in item)
    text = item.get("text") or {}
    link = (text.get("link") or {}).get("url")
    plain = text.get("content") or (item.get("equation") or {}).get("expression") or item.get("plain_text") or ""
    inside = {"content": text["content"], "link": link and {"url": link}} if kind == "text" else item[kind]
    marks = MARKS | (item.get("annotations") or {})
    return {"type": kind, kind: inside, "annotations": marks, "plain_text": plain, "href": link or item.get("href")}


def plain(items: Iterable[Json]) -> str:
    return "".join(item["plain_text"] for item in items)


def user(of: str) -> Json:
    return {"object": "user", "id": of, "name": USERS.get(of), "avatar_url": None, "type": "person", "person": {}}


@dataclass
class Store:
    """`hidden` holds the ids that are not shared with the connection."""

    objects: dict[str, Json] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=lambda: dict(USERS))
    hidden: set[str] = field(default_factory=set)
    ids_created: int = 0

    def next_id(self) -> str:
        self.ids_created += 1
        return id_of("made", str(self.ids_created))

    def shared(self, of: str, *kinds: str) -> Json | None:
        result = self.objects.get(_dashed(of))
        return result if result and result["object"] in kinds and result["id"] not in self.hidden else None

    def objects_of_kind(self, *kinds: str) -> list[Json]:
        return [value for value in self.objects.values() if value["object"] in kinds and value["id"] not in self.hidden]

    def page(self, of: str, parent: Json, properties: Json, edited: str = NOW, **more: Any) -> Json:
        page = {
            **_common("page", of, parent, edited),
            "icon": None,
            "cover": None,
            "is_locked": False,
            "is_archived": False,
            "url": address(of),
            "public_url": None,
            "properties": properties,
            **more,
        }
        return self._put(page)

    def plain_page(self, of: str, parent: Json, title: str, edited: str = NOW) -> Json:
        page = self.page(of, parent, {"title": {"id": "title", "type": "title", "title": rich(title)}}, edited)
        if "page_id" in parent:
            self.block(parent["page_id"], {"type": "child_page", "child_page": {"title": title}}, of=of)
        return page

    def database(self, of: str, parent: Json, title: str, sources: Mapping[str, str]) -> Json:
        """`sources`: the names of its data sources by their ids."""
        self.block(parent["page_id"], {"type": "child_database", "child_database": {"title": title}}, of=of)
        named = [{"id": item, "name": name} for item, name in sources.items()]
        more = {"title": rich(title), "description": [], "data_sources": named, "is_inline": False, "is_locked": False}
        common = _common("database", of, parent, "2026-11-03T08:00:00.000Z")
        common = {name: value for name, value in common.items() if not name.endswith("_by")}
        return self._put({**common, **more, **PLAIN, "url": address(of)})

    def data_source(self, of: str, database: str, name: str, properties: Json) -> Json:
        parent = {"type": "database_id", "database_id": database}
        above = self.objects[database]["parent"]
        more = {"title": rich(name), "description": [], "properties": properties, "database_parent": above}
        common = _common("data_source", of, parent, "2026-11-03T08:00:00.000Z")
        return self._put({**common, **more, "is_inline": False, **PLAIN, "url": address(database)})

    def block(self, parent: str, body: Json, *, of: str = "", after: str = "") -> Json:
        """Trashes an object with its children."""
        created = of or self.next_id()
        kind = body.get("type") or next(name for name in body if name not in ("object", "type"))
        inside = AT_FIRST.get(kind, {}) | {name: item for name, item in body[kind].items() if name != "children"}
        for name in ("rich_text", "caption"):
            if name in inside:
                inside[name] = rich(inside[name])
        if "cells" in inside:
            inside["cells"] = [rich(cell) for cell in inside["cells"]]
        is_on_page = self.objects.get(parent, {}).get("object") == "page"
        above = "page_id" if is_on_page else "block_id"
        block = {**_common("block", created, {"type": above, above: parent}, NOW), "type": kind, kind: inside}
        if kind not in ("child_page", "child_database"):
            self.objects[created] = block
        else:
            self.objects[f"block {created}"] = block
        block["has_children"] = False
        siblings = self.children.setdefault(parent, [])
        siblings.insert(siblings.index(after) + 1 if after else len(siblings), created)
        if around := self._block(parent):
            around["has_children"] = True
        for item in body[kind].get("children", ()):
            self.block(created, item)
        return block

    def blocks_in(self, parent: str) -> list[Json]:
        result = (self._block(item) for item in self.children.get(_dashed(parent), ()))
        return [item for item in result if item]

    def in_trash(self, of: str) -> bool:
        """Whether the object or an ancestor is in the trash."""
        result = self.objects.get(of)
        if result is None:
            return False
        above = result["parent"].get("block_id") or result["parent"].get("page_id")
        return bool(result["in_trash"]) or (above is not None and self.in_trash(above))

    def _block(self, of: str) -> Json | None:
        result = self.objects.get(f"block {of}") or self.objects.get(of)
        return result if result and result["object"] == "block" else None

    def _put(self, object_: Json) -> Json:
        self.objects[object_["id"]] = object_
        return object_


def _common(kind: str, of: str, parent: Json, edited: str) -> Json:
    by = {"object": "user", "id": ADA}
    return {
        "object": kind,
        "id": of,
        "parent": parent,
        "created_time": "2026-10-01T08:00:00.000Z",
        "created_by": by,
        "last_edited_time": edited,
        "last_edited_by": by,
        "archived": False,
        "in_trash": False,
    }


def _dashed(of: str) -> str:
    try:
        return str(uuid.UUID(of))
    except ValueError:
        return of

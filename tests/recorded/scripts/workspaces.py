"""Workspaces: made, listed, renamed and deleted."""

from __future__ import annotations

from tests.recorded.script import Script, delete, get, post, put

ALL, MINE, NEW = "/api/workspaces", "/api/workspaces/{workspace}", "/api/workspaces/{new}"

SCRIPT: Script = [
    post(
        "create", ALL, {"name": "New"}, caller="operator", saves={"new": "id", "new_key": "apiKey", "where": "Location"}
    ),
    get("the Location", "{where}", "new"),
    post("create with a name of another script", ALL, {"name": "ワークスペース 🚀"}, caller="operator"),
    post("create with spaces around the name", ALL, {"name": "  padded  "}, caller="operator"),
    post("create with an id", ALL, {"name": "x", "id": "ws_3kq8v0zj5m1t7r2x9c4b"}, caller="operator"),
    post("create with an unknown field", ALL, {"name": "x", "nmae": "y"}, caller="operator"),
    post("create without a name", ALL, {}, caller="operator"),
    post("create with an empty name", ALL, {"name": ""}, caller="operator"),
    post("create with a blank name", ALL, {"name": "   "}, caller="operator"),
    post("create with a long name", ALL, {"name": "x" * 101}, caller="operator"),
    post("create with a name of the longest", ALL, {"name": "x" * 100}, caller="operator"),
    post("create with controls in the name", ALL, {"name": "a\u0000b"}, caller="operator"),
    post("create with a number for a name", ALL, {"name": 7}, caller="operator"),
    post("create with null for a name", ALL, {"name": None}, caller="operator"),
    post("create with a list", ALL, [], caller="operator"),
    post("create with a text", ALL, "x", caller="operator"),
    post("create with null", ALL, None, caller="operator"),
    get("list", ALL, "operator"),
    get("list a page", f"{ALL}?limit=2", "operator", saves={"second": "Link"}),
    get("list the page behind it", "{second}", "operator", saves={"third": "Link"}),
    get("list one more", "{third}", "operator"),
    *(
        get(f"list with {query}", f"{ALL}?{query}", "operator")
        for query in (
            *("limit=0", "limit=101", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=100", "limit=1&limit=2"),
            *("cursor=", "cursor=nonsense", "cursor=%00", "cursor=" + "x" * 601, "unknown=1"),
        )
    ),
    get("read", MINE, "read"),
    put("rename", MINE, {"name": "Renamed"}, saves={"tag": "ETag"}),
    put("rename, with the current tag", MINE, {"name": "Renamed again"}, headers={"If-Match": "{tag}"}),
    put("rename, with an old tag", MINE, {"name": "Never"}, headers={"If-Match": "{tag}"}),
    put("rename, at any version", MINE, {"name": "Renamed"}, headers={"If-Match": "*"}),
    put("rename, with several tags", MINE, {"name": "Several"}, headers={"If-Match": '"0", {tag}, "4"'}),
    put("rename, with a weak tag", MINE, {"name": "Never"}, headers={"If-Match": "W/{tag}"}),
    put("rename, with a tag that is none", MINE, {"name": "Never"}, headers={"If-Match": "nonsense"}),
    put("rename without any field", MINE, {}),
    put("rename with what was read", MINE, {"name": "Sent back", "version": 3, "id": "{workspace}"}),
    put("rename with all that was read", MINE, {"name": "All", "createdAt": "x", "updatedAt": None, "version": 0}),
    put("rename with an unknown field", MINE, {"title": "x"}),
    put("rename with null", MINE, {"name": None}),
    put("rename by a reader", MINE, {"name": "Never"}, caller="read"),
    get("read what is left", MINE),
    delete("delete, with an old tag", NEW, caller="new", headers={"If-Match": '"9"'}),
    delete("delete by another workspace's admin", NEW),
    delete("delete", NEW, caller="new", headers={"If-Match": '"1"'}),
    get("the key of the deleted workspace", NEW, "new"),
    delete("delete again", NEW, caller="operator"),
    delete("delete by the operator", "/api/workspaces/{foreign}", caller="operator"),
    get("list what is left", ALL, "operator"),
]

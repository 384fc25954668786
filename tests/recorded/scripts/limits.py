"""One workspace more than the operator allows."""

from __future__ import annotations

from tests.recorded.environment import MOST_WORKSPACES
from tests.recorded.script import ClockAdvance, Script, delete, post

WORKSPACES = "/api/workspaces"
THERE_ARE = 2

SCRIPT: Script = [
    *(
        post(f"create workspace {number}", WORKSPACES, {"name": "x"}, caller="operator", saves={f"id_{number}": "id"})
        for number in range(THERE_ARE, MOST_WORKSPACES)
    ),
    post("create one more than is allowed", WORKSPACES, {"name": "x"}, caller="operator"),
    delete("delete one", f"{WORKSPACES}/{{id_{THERE_ARE}}}", caller="operator"),
    ClockAdvance(1),
    post("create one in its place", WORKSPACES, {"name": "x"}, caller="operator"),
    post("create one more than is allowed, again", WORKSPACES, {"name": "x"}, caller="operator"),
]

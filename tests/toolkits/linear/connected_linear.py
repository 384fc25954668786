"""A fake Linear workspace behind a server, and the requests that it received."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from typing import Any

from demo.services.linear.fake import FakeLinear
from tests.toolkits.connected_service import ConnectedService, connected
from tests.toolkits.contract import Json
from tests.toolkits.linear import linear_contract

TEAMS, PROJECTS, ISSUES = "linear_list_teams", "linear_list_projects", "linear_list_issues"
ISSUE, SEARCH = "linear_get_issue", "linear_search_issues"


@dataclass(frozen=True)
class Linear(ConnectedService):
    fake: FakeLinear

    service = "linear"
    contract = linear_contract.CONTRACT
    cursor_parameter = "after"
    first_cursor = ""

    def readable(self, scene: str) -> str:
        """Without how long to wait: that depends on when in a second it was asked."""
        return re.sub(r"(Try again in|\[rate_limited) [0-9.]+", r"\1 …", scene)

    def identifiers(self, tool: str = ISSUES, **args: Any) -> list[str]:
        return [issue["identifier"] for issue in self.tools.result(tool, **args)["issues"]]

    def queries_sent(self) -> list[Json]:
        """The queries of the tools, without what it takes to connect."""
        bodies = [json.loads(request.body) for request in self.tenant.requests_to("api")]
        return [body for body in bodies if body["query"].startswith("query ")]

    def check(self, *, strict: bool) -> None:
        super().check(strict=strict)
        assert self.fake.mutations == []
        assert all(cost < 10_000 / 2 for cost in self.fake.costs), "the largest is to stay far from what Linear allows"


connected_linear = partial(connected, Linear)

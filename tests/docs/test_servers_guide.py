"""The blocks of `docs/servers.md`."""

import json

from tests.docs.reader import Reader
from tests.documents import guide

SERVERS = guide("servers")


def test_a_server_is_stored_checked_enabled_and_deleted(reader: Reader) -> None:
    printed = reader.run(SERVERS, "api() {", "billing.example.com", then='api "$URL/agents/$AGENT"')
    servers, check, refused, agent = map(json.loads, printed)

    assert [(server["name"], server["configured"]) for server in servers] == [("Billing", ["headerValue"])]
    assert check["status"] == "unreachable"
    assert (refused["status"], refused["code"]) == (409, "in_use")
    assert (agent["name"], agent["enabledMcpServerIds"], agent["enabledMcpServerToolNames"]) == ("Accounts", [], {})
    assert reader.workspace.admin.get(reader.workspace.servers).json() == []
    assert "a-token" not in "".join(printed)

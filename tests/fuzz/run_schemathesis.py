"""Has schemathesis call a served Plugboard in every way that its contract allows, and in many that it does not.

`make fuzz` runs it; further arguments go to schemathesis, as in `make fuzz ARGS=--seed=1`.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from api.http.openapi.examples import INPUT_SCHEMA
from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from demo.mcp_servers import PlainServer
from tests.harness import Plugboard, Workspace, listening, served
from tests.http.operations_on_workspace import OAUTH_CALLBACKS, OPERATIONS
from tests.operations import APPS, BY_CLIENT, NOTION

EXAMPLES = 40
LIMIT_SECONDS = 300
HAR = "calls.har"
SEE_OTHER, REFUSED = 303, "/connected?error="
WEATHER_TOOL = {"name": "get_weather", "inputSchema": INPUT_SCHEMA}

CONFIG = """
hooks = "tests.fuzz.hooks"
headers = {{ Authorization = "Bearer {admin}" }}
parameters = {{ workspaceId = "{workspace}" }}

[generation]
database = "none"
max-examples = {examples}

[cache]
enabled = false

[phases.stateful]
max-steps = 10

# What JSON Schema cannot say is refused all the same: which fields go together, which ids there are, which URLs may
# be called, which cursors and versions are ours.
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404, 409, 412, 422]

# A bad header, cursor, version or media type has an answer of its own.
[checks.negative_data_rejection]
expected-statuses = [400, 401, 404, 405, 409, 412, 413, 415, 422]

# Operators make and list workspaces; the workspace that this one deletes is not the one that all the others need.
[[operations]]
include-path = "/api/workspaces"
headers = {{ Authorization = "Bearer {operator}" }}

[[operations]]
include-path = "/metrics"
headers = {{ Authorization = "Bearer {operator}" }}

# An agent with the very tool that the examples call, at an upstream that answers. Here a 404 says as well that an agent
# that was just made has no such tool.
[[operations]]
include-operation-id = "callTool"
parameters = {{ agentId = "{agent}" }}
checks.ensure_resource_availability.enabled = false

[[operations]]
include-operation-id = "deleteWorkspace"
headers = {{ Authorization = "Bearer {operator}" }}
parameters = {{ workspaceId = "{spare}" }}

# A server that can be connected, where nothing changes or deletes it; and two tickets, one to look at as often as
# wanted, one to go on with.
[[operations]]
include-operation-id = ["connectServer", "getConnection", "disconnectServer"]
headers = {{ Authorization = "Bearer {connecting_admin}" }}
parameters = {{ workspaceId = "{connecting}", serverId = "{at_notion}" }}

[[operations]]
include-operation-id = "connectClient"
headers = {{ Authorization = "Bearer {connecting_admin}" }}
parameters = {{ workspaceId = "{connecting}", serverId = "{by_client}" }}

[[operations]]
include-operation-id = "showConnect"
parameters = {{ ticket = "{ticket}" }}

[[operations]]
include-operation-id = "goOnConnecting"
parameters = {{ ticket = "{ticket_to_use}" }}

# A browser is sent on, whatever it brings.
[[operations]]
include-operation-id = ["goOnConnecting", "finishConnecting", "finishConnectingByIssuer"]
checks.positive_data_acceptance.expected-statuses = [303]
checks.negative_data_rejection.expected-statuses = [303, 404, 405]

# Not the key that all requests are made with.
[[operations]]
include-operation-id = "revokeApiKey"
parameters = {{ keyId = "{key}" }}

[[operations]]
include-operation-id = "getApiKey"
parameters = {{ keyId = "{kept_key}" }}
"""


def config(plugboard: Plugboard, upstream: str) -> str:
    workspace = plugboard.make_workspace()
    server = workspace.make_server(name="Weather API", url=f"{upstream}/mcp")["id"]
    connecting = plugboard.make_workspace()
    at_notion = connecting.make_server(**NOTION)["id"]
    return CONFIG.format(
        connecting=connecting.id,
        connecting_admin=connecting.key,
        at_notion=at_notion,
        by_client=connecting.make_server(**BY_CLIENT)["id"],
        ticket=ticket(connecting, at_notion),
        ticket_to_use=ticket(connecting, at_notion),
        agent=workspace.make_agent(enabledMcpServerIds=[server])["id"],
        admin=workspace.key,
        operator=plugboard.operator_key,
        workspace=workspace.id,
        spare=plugboard.make_workspace().id,
        key=workspace.make_key("read")["id"],
        kept_key=workspace.make_key("read")["id"],
        examples=EXAMPLES,
    )


def ticket(workspace: Workspace, server: str) -> str:
    response = workspace.admin.get(f"{workspace.servers}/{server}/oauth/authorize")
    return str(response.json()["authUrl"]).rpartition("/")[2]


def main() -> None:
    egress = EgressPolicy.parse("127.0.0.1/32")
    with (
        tempfile.TemporaryDirectory() as name,
        listening(PlainServer([WEATHER_TOOL])) as upstream,
        served(Settings(data_dir=Path(name), egress=egress, oauth_apps=APPS)) as plugboard,
    ):
        folder = Path(name)
        Path(folder, "schemathesis.toml").write_text(config(plugboard, upstream))
        run(folder, plugboard.url, sys.argv[1:])
        if unreached := operations() - carried_out(folder / HAR):
            sys.exit(f"These were never carried out, so little is known about them: {sorted(unreached)}")


def run(folder: Path, url: str, more: Sequence[str]) -> None:
    requests = [
        f"--config-file={folder}/schemathesis.toml",
        "run",
        f"{url}/openapi.yaml",
        f"--report-har-path={folder}/{HAR}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *requests, *more], check=False, timeout=LIMIT_SECONDS
    )
    if done.returncode:
        sys.exit(done.returncode)


def carried_out(report: Path) -> set[str]:
    """The operations that were answered with a success at least once."""
    entries = json.loads(report.read_text())["log"]["entries"]
    good = {
        (entry["request"]["method"], urlsplit(entry["request"]["url"]).path) for entry in entries if succeeded(entry)
    }
    return {
        str(operation)
        for operation in OPERATIONS
        for method, path in good
        if method == operation.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", operation.path), path)
    }


def succeeded(entry: Mapping[str, Any]) -> bool:
    """A browser that is sent on is sent on to somewhere, or to a page that says why not."""
    sent_on = [header["value"] for header in entry["response"]["headers"] if header["name"].lower() == "location"]
    status = entry["response"]["status"]
    return 200 <= status < 300 or (status == SEE_OTHER and not any(REFUSED in item for item in sent_on))


def operations() -> set[str]:
    """But for the contract itself: to read that is how it begins, and no call of its own. And but for what only a
    browser can carry out that a provider sends back.
    """
    return {str(operation) for operation in OPERATIONS if operation.path not in OAUTH_CALLBACKS} - {"getContract"}


if __name__ == "__main__":
    main()

"""The smallest use of the client that openapi-python-client makes, as its users write it."""

import json
import sys

from plugboard_client import AuthenticatedClient
from plugboard_client.api.agents import create_agent
from plugboard_client.api.servers import create_server
from plugboard_client.api.tools import call_tool
from plugboard_client.models.agent import Agent
from plugboard_client.models.audit_action import AuditAction
from plugboard_client.models.auth_type import AuthType
from plugboard_client.models.call import Call
from plugboard_client.models.call_tool_body import CallToolBody
from plugboard_client.models.call_tool_body_args import CallToolBodyArgs
from plugboard_client.models.config_draft import ConfigDraft
from plugboard_client.models.create_agent_body import CreateAgentBody
from plugboard_client.models.create_server_body import CreateServerBody
from plugboard_client.models.failure_kind import FailureKind
from plugboard_client.models.o_auth_grant import OAuthGrant
from plugboard_client.models.problem import Problem
from plugboard_client.models.problem_code import ProblemCode
from plugboard_client.models.server import Server
from plugboard_client.models.unavailable_reason import UnavailableReason

url, key, workspace_id, upstream = sys.argv[1:]
words = [
    ProblemCode.NOT_FOUND,
    UnavailableReason.NOT_CONNECTED,
    FailureKind.TIMEOUT,
    AuditAction.SERVER_CREATED,
    OAuthGrant.CLIENT_CREDENTIALS,
]
client = AuthenticatedClient(base_url=url, token=key)

server = create_server.sync(
    workspace_id, client=client, body=CreateServerBody(name="Plain", auth_type=AuthType.NONE, url=upstream)
)
assert isinstance(server, Server), server

draft = CreateServerBody(
    name="Sealed", auth_type=AuthType.HEADER, url=upstream, config=ConfigDraft(header_value="Bearer canary")
)
with_credential = create_server.sync(workspace_id, client=client, body=draft)
assert isinstance(with_credential, Server), with_credential

agent = create_agent.sync(
    workspace_id, client=client, body=CreateAgentBody(name="Support", enabled_mcp_server_ids=[server.id])
)
assert isinstance(agent, Agent), agent

args = CallToolBodyArgs.from_dict({"city": "Oslo"})
call = call_tool.sync(
    workspace_id, agent.id, client=client, body=CallToolBody(tool_name="mcp_plain_forecast", args=args)
)
assert isinstance(call, Call), call

missing = call_tool.sync(workspace_id, agent.id, client=client, body=CallToolBody(tool_name="mcp_plain_sing"))
assert isinstance(missing, Problem), missing
code: ProblemCode = missing.code

print(json.dumps([server.name, with_credential.configured, call.text, code, len(words)]))

"""What the conformance suite starts as a client, with the URL of one of the suite's servers.

It is our upstream client; where there is something to authorize, the whole product.
Which scenario it is stands in the environment. A scenario that is not known here ends with an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from api.kit.egress.policy import EgressPolicy, check_url
from api.kit.http_client.client import HttpClient
from api.toolbox.json_schema.normalise import normalise
from api.toolbox.json_schema.validation import Validator
from api.upstream_http import UpstreamHttp
from integrations import McpClient
from integrations.mcp.server_requests import NOBODY, Respondent
from tests.conformance import connecting

SCENARIO, CONTEXT = "MCP_CONFORMANCE_SCENARIO", "MCP_CONFORMANCE_CONTEXT"
EGRESS = EgressPolicy.parse("127.0.0.1/32, localhost")
SECONDS = 20.0
EXAMPLES = {"string": "text", "integer": 3, "number": 2.5, "boolean": True, "array": [], "object": {}}

Json = dict[str, Any]
ScenarioClient = Callable[[McpClient, Json], Awaitable[None]]


class ConsentingRespondent:
    """Agrees to every form, with its defaults."""

    capabilities: Mapping[str, Any] = {"elicitation": {"form": {}}}

    async def answer(self, method: str, params: Mapping[str, Any]) -> Json | None:
        if method != "elicitation/create":
            return None
        fields = params["requestedSchema"]["properties"]
        defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
        return {"action": "accept", "content": defaults}


async def look(client: McpClient, _context: Json) -> None:
    """Lists the tools, and does with their schemas what a toolbox does."""
    for tool in (await client.list_tools()).tools:
        normalise(tool["inputSchema"])
        Validator.of(tool["inputSchema"]).check({})


async def call_all(client: McpClient, _context: Json) -> None:
    """At the same time, as agents do."""
    tools = (await client.list_tools()).tools
    await asyncio.gather(*(client.call_tool(tool["name"], arguments(tool), tool) for tool in tools))


async def call_given_tools(client: McpClient, context: Json) -> None:
    await client.list_tools()
    for call in context["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def use_every_feature(client: McpClient, context: Json) -> None:
    await call_all(client, context)
    for resource in (await client.call("resources/list"))["resources"]:
        await client.call("resources/read", {"uri": resource["uri"]})
    for prompt in (await client.call("prompts/list"))["prompts"]:
        await client.call("prompts/get", {"name": prompt["name"]})


async def send_schema_back(client: McpClient, _context: Json) -> None:
    schemas = {tool["name"]: tool["inputSchema"] for tool in (await client.list_tools()).tools}
    await client.call_tool("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


SCENARIOS: Mapping[str, ScenarioClient] = {
    "initialize": look,
    "tools_call": call_all,
    "elicitation-sep1034-client-defaults": call_all,
    "sse-retry": call_all,
    "request-metadata": look,
    "sep-2322-client-request-state": call_all,
    "http-standard-headers": use_every_feature,
    "http-custom-headers": call_given_tools,
    "http-invalid-tool-headers": call_all,
    "json-schema-ref-no-deref": look,
    "json-schema-2020-12-preservation": send_schema_back,
}

# All other scenarios run as in Plugboard, without a respondent.
WITH_RESPONDENT = {"elicitation-sep1034-client-defaults", "sep-2322-client-request-state"}


def arguments(tool: Json) -> Json:
    """Something of the right type for every parameter."""
    properties = tool["inputSchema"].get("properties", {})
    return {name: EXAMPLES[schema["type"]] for name, schema in properties.items()}


@asynccontextmanager
async def connected(url: str, respondent: Respondent) -> AsyncIterator[McpClient]:
    outbound = HttpClient(EGRESS)
    http = UpstreamHttp(outbound, EGRESS, check_url(url, EGRESS).origin, {}, pool="conformance", seconds=SECONDS)
    client = McpClient(http, url, respondent=respondent)
    try:
        yield client
    finally:
        await client.close()
        await outbound.close()


async def speak(url: str, scenario: str, context: Json) -> None:
    async with connected(url, ConsentingRespondent() if scenario in WITH_RESPONDENT else NOBODY) as client:
        await SCENARIOS[scenario](client, context)


def main(url: str) -> None:
    scenario, context = os.environ[SCENARIO], json.loads(os.environ.get(CONTEXT, "{}"))
    if play := connecting.SCENARIOS.get(scenario):
        play(url, context)
    else:
        asyncio.run(speak(url, scenario, context))


if __name__ == "__main__":
    main(*sys.argv[1:])

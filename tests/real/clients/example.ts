// The smallest use of a client whose types are made by openapi-typescript, as its users write it.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [url = "", key = "", workspaceId = "", upstream = ""] = process.argv.slice(2);

type Code = components["schemas"]["Problem"]["code"];
type Reason = components["schemas"]["Unavailable"]["reason"];
type Kind = components["schemas"]["CallError"]["kind"];
type Action = components["schemas"]["Audit"]["action"];
type Grant = components["schemas"]["Server"]["oauthGrant"];

const words: [Code, Reason, Kind, Action, Grant] = [
  "not_found", "not_connected", "timeout", "server.created", "client_credentials",
];
// @ts-expect-error there is no such code
const noCode: Code = "no_such_code";
// @ts-expect-error there is no such reason
const noReason: Reason = "no_such_reason";
// @ts-expect-error there is no such kind of failure
const noKind: Kind = "no_such_kind";
// @ts-expect-error there is no such action
const noAction: Action = "no_such.action";
// @ts-expect-error there is no such grant
const noGrant: Grant = "no_such_grant";

const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
const path = { workspaceId };

const server = await client.POST("/api/workspaces/{workspaceId}/mcp-servers", {
  params: { path },
  body: { name: "Plain", url: upstream, authType: "none" },
});
if (!server.data) throw new Error(server.error.detail);

const withCredential = await client.POST("/api/workspaces/{workspaceId}/mcp-servers", {
  params: { path },
  body: { name: "Sealed", url: upstream, authType: "header", config: { headerValue: "Bearer canary" } },
});
if (!withCredential.data) throw new Error(withCredential.error.detail);

const agent = await client.POST("/api/workspaces/{workspaceId}/agents", {
  params: { path },
  body: { name: "Support", enabledMcpServerIds: [server.data.id] },
});
if (!agent.data) throw new Error(agent.error.detail);

const calls = "/api/workspaces/{workspaceId}/agents/{agentId}/tool-calls";
const inAgent = { params: { path: { workspaceId, agentId: agent.data.id } } };
const call = await client.POST(calls, { ...inAgent, body: { toolName: "mcp_plain_forecast", args: { city: "Oslo" } } });
if (!call.data) throw new Error(call.error.detail);

const missing = await client.POST(calls, { ...inAgent, body: { toolName: "mcp_plain_sing" } });
const code: Code | undefined = missing.error?.code;

console.log(JSON.stringify([server.data.name, withCredential.data.configured, call.data.text, code, words.length]));

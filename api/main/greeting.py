"""What the first start prints: the workspace, its admin key, and a call that works."""

from __future__ import annotations

from ipaddress import IPv4Address

from api.main.settings import Settings
from api.workspaces.service import CreatedWorkspace

DEMO = IPv4Address("127.0.0.1")
WILDCARD_HOSTS = ("0.0.0.0", "::")  # noqa: S104  # reachable on 127.0.0.1 from the same machine
FIRST_CALL = """\
  api() { curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"; echo; }
  id_of() { python3 -c 'import json, sys; body = json.loads(sys.stdin.read().strip() or sys.exit(1)); \
print(body.get("id") or sys.exit(json.dumps(body, indent=1)))'; }
  SERVER=$(api "$URL/mcp-servers" -d '{"name": "Weather", "authType": "none",
    "url": "http://127.0.0.1:8401/mcp"}' | id_of)
  AGENT=$(api "$URL/agents" -d '{"name": "Support", "enabledMcpServerIds": ["'$SERVER'"]}' | id_of)
  api "$URL/agents/$AGENT/tool-calls" -d '{"toolName": "mcp_weather_get_weather", "args": {"city": "Oslo"}}'
"""
NOT_ALLOWED = "This call needs a Plugboard that may reach this machine: stop it and start it again with\n\
`PLUGBOARD_EGRESS_ALLOW=127.0.0.1/32 make run`. "


def greeting(settings: Settings, created: CreatedWorkspace) -> str:
    url = f"{base_url(settings)}/api/workspaces/{created.workspace.id}"
    key = created.key.reveal_text()
    return f"""
Created a first workspace and its admin key. Keep the key: it cannot be shown again.

  workspace  {created.workspace.id}
  API key    {key}

A first tool call: run `make demo` in a second terminal, and these lines in a third. README.md explains them, and its
guides need the first two.

  URL={url}
  KEY={key}
{FIRST_CALL}
{"" if settings.egress.allows(DEMO) else NOT_ALLOWED}"""


def base_url(settings: Settings) -> str:
    host = "127.0.0.1" if settings.host in WILDCARD_HOSTS else settings.host
    return f"http://{host}:{settings.port}"

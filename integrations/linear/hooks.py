"""The account hook: reads the Linear workspace of a token, which the token response does not name."""

from __future__ import annotations

import json

from integrations.http_port import Http
from integrations.oauth.model import Account

QUERY = json.dumps({"query": "{ viewer { name } organization { id name urlKey } }"}).encode()


async def account(http: Http, api_base_url: str, access_token: str) -> Account:
    headers = {"Authorization": f"Bearer {access_token}", "Content-Type": "application/json"}
    async with http.request("POST", f"{api_base_url}/graphql", headers, QUERY) as reply:
        body = json.loads(await reply.read())
    match body:
        case {
            "data": {
                "viewer": {"name": str(name)},
                "organization": {"id": str(workspace_id), "name": str(workspace), "urlKey": str(key)},
            }
        }:
            return Account(workspace_id, name, workspace, f"https://linear.app/{key}")
        case _:
            return Account()

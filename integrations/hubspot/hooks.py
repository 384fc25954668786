"""The HubSpot account that an app was installed in, and its URL, which depends on the region."""

from __future__ import annotations

import json

from integrations.http_port import Http
from integrations.hubspot.client import DETAILS
from integrations.oauth.model import Account


async def account(http: Http, api_base_url: str, access_token: str) -> Account:
    headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
    async with http.request("GET", f"{api_base_url}{DETAILS}", headers) as reply:
        details = json.loads(await reply.read())
    match details:
        case {"portalId": int(number), "uiDomain": str(domain)}:
            name = details.get("portalName")  # of later versions
            return Account(str(number), workspace=name, url=f"https://{domain}/contacts/{number}")
        case _:
            return Account()

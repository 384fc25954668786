"""What is played where the suite asks for authorization: the whole product, and a person with a browser.

The person agrees to everything. Which scenario it is decides only what is known beforehand and what has to come of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.kit.egress.policy import EgressPolicy
from api.main.settings import Settings
from tests.conformance.browser import Browser
from tests.harness import Workspace, served

EGRESS = EgressPolicy.parse("127.0.0.1/32, ::1/128, localhost")
PUBLIC = "http://127.0.0.1:8400"
# There the suite expects a document about its client, and a client that it can be fetched from has an https URL.
WITH_DOCUMENT = "https://conformance-test.local"
MAX_CONNECTS = 3

Json = dict[str, Any]
ScenarioClient = Callable[[str, Json], None]


@dataclass(frozen=True)
class Product:
    """A served Plugboard with the suite's server in it, and an agent that may use it."""

    workspace: Workspace
    browser: Browser
    server: str
    agent: str

    def connect(self) -> Mapping[str, str]:
        """The parameters of the last page, or the code of the problem that prevented the redirect."""
        response = self.workspace.admin.get(f"{self.workspace.servers}/{self.server}/oauth/authorize")
        if response.status_code != 200:
            return {"error": str(response.json()["code"])}
        return self.browser.connect(response.json()["authUrl"])

    def error_text(self) -> str | None:
        """What is wrong when an agent lists the tools and calls each of them; None where nothing is."""
        path, admin = f"{self.workspace.agents}/{self.agent}", self.workspace.admin
        listed = admin.get(f"{path}/tools").json()
        for server in listed["unavailable"]:
            return str(server["reason"])
        for tool in listed["tools"]:
            outcome = admin.post(f"{path}/tool-calls", json={"toolName": tool["name"], "args": {}}).json()
            if outcome["isError"]:
                return str(outcome.get("error", {}).get("kind", outcome["text"]))
        return None if listed["tools"] else "no tools"


@contextmanager
def product(url: str, public: str = PUBLIC, **fields: Any) -> Iterator[Product]:
    with tempfile.TemporaryDirectory(prefix="plugboard-conformance-") as folder:
        settings = Settings(data_dir=Path(folder), egress=EGRESS, public_url=public)
        with served(settings) as plugboard:
            workspace = plugboard.make_workspace()
            created = {"name": "Suite", "url": url, "authType": "oauth", "exposure": "tools", "config": {}} | fields
            server = workspace.make_server(**created)["id"]
            agent = workspace.make_agent(enabledMcpServerIds=[server])["id"]
            yield Product(workspace, Browser(public, plugboard.url), server, agent)


def use(url: str, _context: Json) -> None:
    with product(url) as product_:
        connect_until_it_works(product_)


def use_given_context(url: str, context: Json) -> None:
    """Connects with a manually registered client."""
    with product(url, config={"clientId": context["client_id"], "clientSecret": context["client_secret"]}) as product_:
        connect_until_it_works(product_)


def use_with_document(url: str, _context: Json) -> None:
    with product(url, WITH_DOCUMENT) as product_:
        connect_until_it_works(product_)


def use_client_credentials(url: str, context: Json) -> None:
    """Uses client credentials, without a user's consent."""
    secret = {"clientSecret": "client_secret", "privateKey": "private_key_pem"}
    config = {name: context[text] for name, text in secret.items() if text in context}
    config["clientId"] = context["client_id"]
    with product(url, oauthGrant="client_credentials", config=config) as product_:
        complaint = product_.error_text()
        assert complaint is None, complaint


def give_up(url: str, _context: Json) -> None:
    """Expects that repeated consent does not suffice."""
    with product(url) as product_:
        for _ in range(MAX_CONNECTS):
            product_.connect()
            assert product_.error_text() is not None, "it should not work"


def be_refused(url: str, _context: Json) -> None:
    with product(url) as product_:
        outcome = product_.connect()
        assert "error" in outcome, outcome


def connect_until_it_works(product_: Product) -> None:
    """Again, where a call turns out to need more than was granted, or the grant has ended."""
    complaint: str | None = "never connected"
    for _ in range(MAX_CONNECTS):
        outcome = product_.connect()
        assert "connected" in outcome, outcome
        complaint = product_.error_text()
        if complaint != "reconnect_required":
            break
    assert complaint is None, complaint


SCENARIOS: Mapping[str, ScenarioClient] = {
    "auth/metadata-default": use,
    "auth/metadata-var1": use,
    "auth/metadata-var2": use,
    "auth/metadata-var3": use,
    "auth/basic-cimd": use_with_document,
    "auth/scope-from-www-authenticate": use,
    "auth/scope-from-scopes-supported": use,
    "auth/scope-omitted-when-undefined": use,
    "auth/scope-step-up": use,
    "auth/scope-retry-limit": give_up,
    "auth/token-endpoint-auth-basic": use,
    "auth/token-endpoint-auth-post": use,
    "auth/token-endpoint-auth-none": use,
    "auth/pre-registration": use_given_context,
    "auth/resource-mismatch": be_refused,
    "auth/offline-access-scope": use,
    "auth/offline-access-not-supported": use,
    "auth/authorization-server-migration": use,
    "auth/iss-supported": use,
    "auth/iss-not-advertised": use,
    "auth/iss-supported-missing": be_refused,
    "auth/iss-wrong-issuer": be_refused,
    "auth/iss-unexpected": be_refused,
    "auth/iss-normalized": be_refused,
    "auth/metadata-issuer-mismatch": be_refused,
    "auth/client-credentials-basic": use_client_credentials,
    "auth/client-credentials-jwt": use_client_credentials,
    "auth/2025-03-26-oauth-metadata-backcompat": use,
    "auth/2025-03-26-oauth-endpoint-fallback": use,
}

"""A provider and its MCP server repeat what they were sent, and none of it is shown, stored or written to the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from api.kit.storage.store import Key
from demo.oauth_provider.server import Fault, OAuthProvider, Tenant
from tests.connections.browser_flow import ConsentBrowser, service
from tests.connections.workspace_owner import WorkspaceOwner, failure_kind, in_another_process
from tests.harness import Plugboard

SECRET = "canary-secret-of-a-client"
SPELLINGS: list[Callable[[str], str]] = [
    lambda text: text,
    lambda text: text.encode().hex(),
    lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
]


@pytest.fixture
def owner(plugboard: Plugboard) -> WorkspaceOwner:
    return WorkspaceOwner.at(plugboard)


@pytest.fixture
def acme(provider: OAuthProvider) -> Tenant:
    tenant = provider.tenant("acme")
    tenant.configure(challenge_scopes=("read",), auth_methods=("client_secret_basic",))
    tenant.add_client("ours", secret=SECRET)
    return tenant


def remote(owner: WorkspaceOwner, tenant: Tenant) -> str:
    return owner.remote(tenant, config={"clientId": "ours", "clientSecret": SECRET})


def stored_texts(owner: WorkspaceOwner, server: str) -> str:
    """The grant and the server as they are stored, with what is encrypted of them."""
    partition = f"WS#{owner.workspace.id}"

    async def read(parts: Any) -> str:
        items = [await parts.store.get(Key(partition, f"{kind}#{server}")) for kind in ("GRANT", "SERVER")]
        assert None not in items
        return json.dumps([dict(item.data) for item in items], default=str)

    return in_another_process(owner.workspace.plugboard, read)


@pytest.mark.requirement("TRS-03")
def test_secrets_among_the_granted_scopes_are_dropped(owner: WorkspaceOwner, acme: Tenant) -> None:
    acme.configure(leaks_in_scopes=True)
    server = remote(owner, acme)

    owner.connected(server)

    status = owner.status(server)
    assert (status["scopes"], status["unaskedScopes"], status["missingScopes"]) == (["read"], [], [])
    secrets = [*acme.live_tokens("access"), *acme.live_tokens("refresh")]
    assert len(secrets) == 2
    assert not [secret for secret in secrets if secret in stored_texts(owner, server)]


@pytest.mark.requirement("TRS-03")
def test_a_client_secret_among_the_granted_scopes_is_dropped(owner: WorkspaceOwner, acme: Tenant) -> None:
    acme.configure(answer_changes={"scope": f'read {SECRET} bad"scope back\\slash'})
    server = remote(owner, acme)

    owner.connected(server)

    assert owner.status(server)["scopes"] == ["read"]
    assert SECRET not in stored_texts(owner, server)


@pytest.mark.requirement("TRS-03")
def test_a_secret_in_two_halves_among_the_granted_scopes_is_dropped(owner: WorkspaceOwner, acme: Tenant) -> None:
    acme.configure(answer_changes={"scope": f"{SECRET[:12]} {SECRET[12:]}"})
    server = remote(owner, acme)

    owner.connected(server)

    assert owner.status(server)["scopes"] == owner.status(server)["askedScopes"]
    assert SECRET[12:] not in stored_texts(owner, server)


@pytest.mark.requirement("TRS-03")
def test_a_token_among_the_scopes_that_a_tool_needs_is_dropped(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(remote(owner, acme))
    acme.configure(leaks_in_scopes=True)

    result = owner.call(owner.agent(server), "admin")

    assert failure_kind(result) == "reconnect_required"
    assert "scopes: admin." in result["text"]
    assert owner.status(server)["missingScopes"] == ["admin"]
    (token,) = acme.live_tokens("access")
    assert token not in stored_texts(owner, server)
    assert token.encode().hex() not in stored_texts(owner, server)


@pytest.mark.requirement("TRS-03")
def test_a_secret_among_the_scopes_to_ask_for_is_not_sent_on(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(remote(owner, acme))
    (token,) = acme.live_tokens("access")
    acme.configure(challenge_scopes=("read", token), scopes_supported=("read", token))

    owner.connected(server)

    assert owner.status(server)["askedScopes"] == ["read"]
    assert token not in stored_texts(owner, server)


@pytest.mark.requirement("TRS-03")
@pytest.mark.parametrize("spelled", SPELLINGS)
def test_the_refresh_token_and_the_client_secret_are_removed_from_results(
    owner: WorkspaceOwner, acme: Tenant, spelled: Callable[[str], str]
) -> None:
    server = owner.connected(remote(owner, acme))
    agent = owner.agent(server)
    (refresh,) = acme.live_tokens("refresh")

    shown = [owner.call(agent, "echo", text=f"it is {spelled(secret)} here")["text"] for secret in (SECRET, refresh)]

    assert shown == ["it is [removed] here"] * 2


@pytest.mark.requirement("TRS-03")
def test_the_new_refresh_token_is_removed_from_results_after_a_refresh(owner: WorkspaceOwner, acme: Tenant) -> None:
    server = owner.connected(remote(owner, acme))
    agent = owner.agent(server)
    (first,) = acme.live_tokens("refresh")
    acme.expire_tokens()
    assert owner.whoami(agent)["generation"] == 1
    (second,) = acme.live_tokens("refresh")
    assert first != second

    shown = [owner.call(agent, "echo", text=f"it is {secret} here")["text"] for secret in (SECRET, first, second)]

    assert shown == ["it is [removed] here"] * 3


@pytest.mark.requirement("TRS-03")
def test_a_secret_in_the_name_of_the_account_is_removed(plugboard: Plugboard, provider: OAuthProvider) -> None:
    provider.tenant("notion").configure(answer_changes={"workspace_name": "canary-notion-secret"})
    server = service(plugboard, provider, "notion")

    assert ConsentBrowser(plugboard).connect(server) == {"connected": server.id}

    assert server.status()["account"]["workspace"] == "[removed]"


@pytest.mark.requirement("TRS-03")
@pytest.mark.parametrize(
    ("error", "logged"), [(SECRET.replace("-", "_"), "a non-standard error code"), ("invalid_grant", "invalid_grant")]
)
def test_only_standard_error_codes_are_logged(
    owner: WorkspaceOwner, acme: Tenant, caplog: pytest.LogCaptureFixture, error: str, logged: str
) -> None:
    acme.inject_fault("token", Fault("down", status=400, body=json.dumps({"error": error})))
    server = remote(owner, acme)

    with caplog.at_level(logging.INFO):
        assert owner.connect(server) == {"error": "refused"}

    assert f"not connected: refused ({logged})" in caplog.messages

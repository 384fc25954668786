"""`config`: kept, replaced, deleted, and never shown."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.harness import WEATHER, Workspace, error_paths

HEADERS = {"X-Api-Key": "canary-key", "X-Tenant": "canary-tenant"}
BOTH = {"headerValue": "Bearer canary", "headers": HEADERS}
BASIC = {"authType": "basic", "config": {"username": "ada", "password": "canary-password"}}


def signing_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def put(workspace: Workspace, server_id: str, **fields: Any) -> dict[str, Any]:
    response = workspace.admin.put(f"{workspace.servers}/{server_id}", json=fields)
    assert response.status_code == 200, response.text
    changed: dict[str, Any] = response.json()
    return changed


def put_config(workspace: Workspace, server_id: str, config: dict[str, Any]) -> list[str]:
    return list(put(workspace, server_id, config=config)["configured"])


def test_credentials_are_stored_unchanged(workspace: Workspace) -> None:
    header, basic = workspace.make_server(config=BOTH), workspace.make_server(**BASIC)

    stored = workspace.stored_credentials(header["id"])
    assert header["configured"] == ["headerValue", "headers"]
    assert stored["headerValue"] == "Bearer canary"
    assert json.loads(stored["headers"]) == HEADERS
    assert basic["configured"] == ["password", "username"]
    assert workspace.stored_credentials(basic["id"]) == {"username": "ada", "password": "canary-password"}


def test_a_password_may_be_empty(workspace: Workspace) -> None:
    server = workspace.make_server(authType="basic", config={"username": "ada", "password": ""})

    assert workspace.stored_credentials(server["id"]) == {"username": "ada", "password": ""}


@pytest.mark.requirement("EGR-13")
@pytest.mark.parametrize("value", ["Bearer ${AWS_SECRET_ACCESS_KEY}", "$HOME", "{{ secret }}", "%PATH%", "a\\nb", "ü"])
def test_nothing_in_a_value_is_expanded(workspace: Workspace, value: str) -> None:
    server = workspace.make_server(config={"headerValue": value, "headers": {"X-Key": value}})

    stored = workspace.stored_credentials(server["id"])
    assert stored["headerValue"] == value
    assert json.loads(stored["headers"]) == {"X-Key": value}


@pytest.mark.requirement("ENC-17", "ENC-18", "AUD-04")
def test_no_response_shows_a_credential(workspace: Workspace) -> None:
    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": BOTH})
    path = f"{workspace.servers}/{response.json()['id']}"
    notes = [
        response,
        workspace.admin.get(path),
        workspace.admin.get(workspace.servers),
        workspace.admin.put(path, json={"config": BOTH | {"headers": {"X-Canary-Name": "canary"}}}),
        workspace.admin.put(path, json={"config": {"headerValue": "canary\n"}}),
        workspace.admin.put(path, json={"config": {"username": "canary"}}),
        workspace.admin.delete(path),
        workspace.admin.get(workspace.audit),
    ]

    assert [answer.status_code for answer in notes] == [201, 200, 200, 200, 422, 422, 204, 200]
    for answer in notes:
        assert "canary" not in answer.text.lower()
        assert "canary" not in str(answer.headers).lower()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Forecast"},
        {"enabled": False, "description": "Off for now.", "timeoutSeconds": 5, "exposure": "tools", "slug": "forecast"},
        {"authType": "header", "serviceType": "external", "url": WEATHER["url"]},
        {},
    ],
)
def test_a_change_of_another_field_keeps_the_credentials(workspace: Workspace, change: dict[str, Any]) -> None:
    server = workspace.make_server(config=BOTH)
    before = workspace.stored_credentials(server["id"])

    assert put(workspace, server["id"], **change)["configured"] == ["headerValue", "headers"]
    assert workspace.stored_credentials(server["id"]) == before


def test_a_new_credential_replaces_that_one_only(workspace: Workspace) -> None:
    server = workspace.make_server(config=BOTH)

    assert put_config(workspace, server["id"], {"headerValue": "Bearer canary-2"}) == ["headerValue", "headers"]
    stored = workspace.stored_credentials(server["id"])
    assert (stored["headerValue"], json.loads(stored["headers"])) == ("Bearer canary-2", HEADERS)

    assert put_config(workspace, server["id"], {"headers": {"X-Key": "canary-3"}, "headerValue": None}) == ["headers"]
    assert json.loads(workspace.stored_credentials(server["id"])["headers"]) == HEADERS | {"X-Key": "canary-3"}


def test_one_of_two_basic_credentials_rotates(any_workspace: Workspace) -> None:
    server = any_workspace.make_server(**BASIC)

    assert put_config(any_workspace, server["id"], {"password": "canary-2"}) == ["password", "username"]
    assert any_workspace.stored_credentials(server["id"]) == {"username": "ada", "password": "canary-2"}


def test_a_secret_of_an_oauth_client_rotates_without_the_client(workspace: Workspace) -> None:
    config = {"clientId": "client", "clientSecret": "canary", "scope": "read"}
    server = workspace.make_server(authType="oauth", config=config)

    assert put_config(workspace, server["id"], {"clientSecret": "canary-2"}) == sorted(config)
    assert workspace.stored_credentials(server["id"]) == config | {"clientSecret": "canary-2"}


def test_an_oauth_client_changes_its_kind_of_secret_only_with_a_null(workspace: Workspace) -> None:
    server = workspace.make_server(authType="oauth", config={"clientId": "client", "clientSecret": "canary"})
    path, key = f"{workspace.servers}/{server['id']}", signing_key()

    both = workspace.admin.put(path, json={"config": {"privateKey": key}})
    assert error_paths(both) == ["config.privateKey"]
    assert "null clears a stored one" in both.json()["errors"][0]["message"]
    config = {"privateKey": key, "clientSecret": None}
    assert put_config(workspace, server["id"], config) == ["clientId", "privateKey"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"X-Tenant": "canary-2"}, {"X-Api-Key": "canary-key", "X-Tenant": "canary-2"}),
        ({"x-TENANT": "canary-2"}, {"X-Api-Key": "canary-key", "x-TENANT": "canary-2"}),
        ({"X-Other": "canary-2"}, HEADERS | {"X-Other": "canary-2"}),
        ({"X-Tenant": None}, {"X-Api-Key": "canary-key"}),
        ({"x-tenant": None, "X-Api-Key": "canary-2"}, {"X-Api-Key": "canary-2"}),
        ({"X-Unknown": None}, HEADERS),
        ({}, HEADERS),
    ],
)
def test_headers_merge_by_name(workspace: Workspace, sent: dict[str, Any], expected: dict[str, str]) -> None:
    server = workspace.make_server(config=BOTH)

    assert put_config(workspace, server["id"], {"headers": sent}) == ["headerValue", "headers"]
    stored = workspace.stored_credentials(server["id"])
    assert (stored["headerValue"], json.loads(stored["headers"])) == ("Bearer canary", expected)


def test_the_last_header_can_be_cleared(workspace: Workspace) -> None:
    server = workspace.make_server(config=BOTH)

    assert put_config(workspace, server["id"], {"headers": dict.fromkeys(HEADERS)}) == ["headerValue"]
    assert workspace.stored_credentials(server["id"]) == {"headerValue": "Bearer canary"}


def test_headers_together_are_at_most_twenty(workspace: Workspace) -> None:
    server = workspace.make_server(config={"headers": {f"X-Key-{number}": "canary" for number in range(20)}})
    path = f"{workspace.servers}/{server['id']}"

    assert error_paths(workspace.admin.put(path, json={"config": {"headers": {"X-More": "canary"}}})) == [
        "config.headers"
    ]
    swapped = {"X-More": "canary", "X-Key-7": None}
    assert put_config(workspace, server["id"], {"headers": swapped}) == ["headers"]
    assert len(json.loads(workspace.stored_credentials(server["id"])["headers"])) == 20


def test_a_null_clears_the_credential_that_it_names(workspace: Workspace) -> None:
    server = workspace.make_server(config=BOTH)

    assert put_config(workspace, server["id"], {"headerValue": None}) == ["headers"]
    assert list(workspace.stored_credentials(server["id"])) == ["headers"]
    assert put_config(workspace, server["id"], {"headers": None}) == []
    assert put_config(workspace, server["id"], {"headers": None}) == []
    assert workspace.stored_credentials(server["id"]) == {}


def test_a_cleared_credential_can_be_given_again(workspace: Workspace) -> None:
    server = workspace.make_server()

    assert put_config(workspace, server["id"], {"headerValue": None}) == []
    assert put_config(workspace, server["id"], {"headerValue": "Bearer canary-again"}) == ["headerValue"]
    assert workspace.stored_credentials(server["id"]) == {"headerValue": "Bearer canary-again"}


def test_incomplete_basic_credentials_are_refused(workspace: Workspace) -> None:
    server = workspace.make_server(**BASIC)
    path = f"{workspace.servers}/{server['id']}"

    response = workspace.admin.put(path, json={"config": {"username": "eve", "password": None}})
    moved = workspace.admin.put(path, json={"url": "https://other.example.com", "config": {"username": "eve"}})

    assert error_paths(response) == error_paths(moved) == ["config.password"]
    assert workspace.stored_credentials(server["id"]) == {"username": "ada", "password": "canary-password"}


@pytest.mark.requirement("AUD-01")
def test_the_audit_trail_names_the_credentials_that_changed(workspace: Workspace) -> None:
    server = workspace.make_server(config=BOTH)
    put_config(workspace, server["id"], {"headerValue": "Bearer canary-2"})
    put_config(workspace, server["id"], {"headerValue": None})
    put(workspace, server["id"], name="Forecast")

    records = [
        record for record in workspace.admin.get(workspace.audit).json() if record["target"]["id"] == server["id"]
    ]

    assert [(record["action"], record["fields"]) for record in reversed(records)] == [
        ("server.created", ["config.headerValue", "config.headers"]),
        ("server.updated", ["config.headerValue"]),
        ("server.updated", ["config.headerValue"]),
        ("server.updated", ["name"]),
    ]


def test_at_most_twenty_headers_are_accepted(workspace: Workspace) -> None:
    headers = {f"X-Key-{number}": "canary" for number in range(20)}
    server = workspace.make_server(config={"headers": headers})
    assert json.loads(workspace.stored_credentials(server["id"])["headers"]) == headers

    config = {"headers": headers | {"X-Key-20": "canary"}}
    assert error_paths(workspace.admin.post(workspace.servers, json=WEATHER | {"config": config})) == ["config.headers"]
    path = f"{workspace.servers}/{server['id']}"
    assert error_paths(workspace.admin.put(path, json={"config": config})) == ["config.headers"]


@pytest.mark.requirement("EGR-12")
@pytest.mark.parametrize(
    "name",
    [
        *("Host", "HOST", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade"),
        *("Cookie", "Set-Cookie", "Content-Length", "content-type", "Content_Length", "Proxy-Authorization"),
        *("Forwarded", "X-Forwarded-For", "X_Forwarded_Host", "Mcp-Session-Id", "MCP-Protocol-Version"),
        *("Authorization", "authorization", "", " ", "X Key", "X-Key:", "X-Ké", "X\nKey", "X-Key\x00", "x" * 65),
    ],
)
def test_some_headers_cannot_be_set(workspace: Workspace, name: str) -> None:
    config = {"headers": {"X-Fine": "canary", name: "canary"}}

    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": config})

    assert {path.split(".")[1] for path in error_paths(response)} == {"headers"}
    assert "canary" not in response.text
    server = workspace.make_server()
    assert workspace.admin.put(f"{workspace.servers}/{server['id']}", json={"config": config}).status_code == 422


@pytest.mark.requirement("EGR-12")
@pytest.mark.parametrize("value", ["", "a\rb", "a\nb", "a\r\nX-Other: b", "a\x00b", " a", "a ", "☔", "v" * 8193])
def test_a_header_value_cannot_inject_a_header(workspace: Workspace, value: str) -> None:
    config = {"headers": {"X-Key": value}}

    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": config})

    assert {path.split(".")[1] for path in error_paths(response)} == {"headers"}


def test_a_header_repeated_in_another_case_is_refused(workspace: Workspace) -> None:
    config = {"headers": {"X-Key": "canary", "x-key": "canary"}}

    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": config})

    assert error_paths(response) == ["config.headers.x-key"]


def test_each_header_that_cannot_be_sent_is_named(workspace: Workspace) -> None:
    config = {"headers": {"Host": "canary", "X-Fine": "canary", "Cookie": "canary", "X-Key": "a\nb", "X Key": "canary"}}

    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": config})

    wrong = ["config.headers", "config.headers.Cookie", "config.headers.Host", "config.headers.X-Key"]
    assert sorted(error_paths(response)) == wrong
    assert "canary" not in response.text


def test_a_header_server_without_credentials_gets_the_fields_to_give(workspace: Workspace) -> None:
    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": {}})

    (error,) = response.json()["errors"]
    assert error == {"path": "config.headerValue", "message": "Give `headerValue`, `headers`, or both."}


@pytest.mark.parametrize("config", [{"username": "a:b", "password": "p"}, {"username": "a\nb", "password": "p"}])
def test_a_user_name_that_basic_cannot_encode_is_refused(workspace: Workspace, config: dict[str, str]) -> None:
    sent = WEATHER | {"authType": "basic", "config": config}

    assert error_paths(workspace.admin.post(workspace.servers, json=sent)) == ["config.username"]


def test_a_basic_password_may_have_any_script_and_colons(workspace: Workspace) -> None:
    config = {"username": "ада", "password": "pä:ss wörd☔"}
    server = workspace.make_server(authType="basic", config=config)

    assert workspace.stored_credentials(server["id"]) == config


def test_credentials_too_large_for_one_server_are_refused(workspace: Workspace) -> None:
    config = {"headers": {f"X-{number}": "ü" * 8192 for number in range(20)}}

    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": config})

    assert response.status_code == 413
    assert workspace.admin.get(workspace.servers).json() == []

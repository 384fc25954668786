"""Slips of pasting get an answer that says what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import WEATHER, Workspace

COMMANDS = ["npx -y @acme/mcp", "uvx mcp-server-time", "docker run -i acme/mcp", "  npx mcp"]


def message(workspace: Workspace, path: str, **changed: Any) -> str:
    response = workspace.admin.post(workspace.servers, json=WEATHER | changed)
    assert response.status_code == 422, response.text
    (text,) = [error["message"] for error in response.json()["errors"] if error["path"] == path]
    return str(text)


@pytest.mark.parametrize("url", COMMANDS)
def test_a_command_is_no_url(workspace: Workspace, url: str) -> None:
    text = message(workspace, "url", url=url)

    assert "This is a command" in text
    assert "Streamable HTTP" in text


@pytest.mark.parametrize("url", [" https://mcp.example.com", "https://mcp.example.com\n", "\thttps://mcp.example.com "])
def test_spaces_around_a_url_are_named(workspace: Workspace, url: str) -> None:
    assert message(workspace, "url", url=url) == "Remove the spaces and line ends at its beginning and end."


@pytest.mark.parametrize("value", ["Bearer canary\n", " Bearer canary", "Bearer canary\r\n"])
def test_spaces_around_a_secret_are_named(workspace: Workspace, value: str) -> None:
    text = message(workspace, "config.headerValue", config={"headerValue": value})

    assert "begins or ends with spaces or line ends" in text
    assert "canary" not in text


def test_spaces_around_a_client_secret_are_named(workspace: Workspace) -> None:
    config = {"clientId": "a", "clientSecret": "canary\n"}

    assert "spaces and line ends" in message(workspace, "config.clientSecret", authType="oauth", config=config)


@pytest.mark.parametrize("auth_type", ["bearer", "Bearer", "token", "api_key", "oauth2"])
def test_another_word_for_an_auth_type_gets_the_one_to_use(workspace: Workspace, auth_type: str) -> None:
    text = message(workspace, "authType", authType=auth_type)

    assert text.startswith("Must be one of `none`, `header`, `basic`, `oauth`. Use ")


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("token", {"token": "canary"}),
        ("headerName", {"headerName": "X-Key"}),
        ("config.token", {"config": {"token": "canary"}}),
        ("config.headerName", {"config": {"headerName": "X-Key"}}),
        ("command", {"command": "npx"}),
    ],
)
def test_a_field_of_other_programs_gets_the_one_to_use(workspace: Workspace, path: str, fields: dict[str, Any]) -> None:
    text = message(workspace, path, **fields)

    assert text.startswith("There is no such field. ")
    assert "`config`" in text or "`url`" in text


@pytest.mark.parametrize(
    ("path", "fields", "hint"),
    [("arguments", {"arguments": {}}, "Use `args`."), ("args", {"args": '{"a": 1}'}, "without quotes")],
)
def test_arguments_in_another_form_get_the_one_to_use(
    workspace: Workspace, path: str, fields: dict[str, Any], hint: str
) -> None:
    agent = workspace.make_agent()["id"]

    response = workspace.admin.post(f"{workspace.agents}/{agent}/tool-calls", json={"toolName": "a"} | fields)

    (error,) = response.json()["errors"]
    assert (response.status_code, error["path"]) == (422, path)
    assert hint in error["message"]


def test_a_key_in_the_query_of_a_url_is_a_warning(workspace: Workspace) -> None:
    server = workspace.make_server(url="https://mcp.example.com/mcp?region=eu&apiKey=abc")
    read = workspace.admin.get(f"{workspace.servers}/{server['id']}").json()
    put_back = workspace.admin.put(f"{workspace.servers}/{server['id']}", json=read)
    cured = workspace.admin.put(f"{workspace.servers}/{server['id']}", json={"url": "https://mcp.example.com/mcp"})

    assert len(server["warnings"]) == 1
    assert "`apiKey`" in server["warnings"][0]
    assert read["warnings"] == server["warnings"]
    assert put_back.status_code == 200
    assert "warnings" not in cured.json()


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u200f"])
def test_a_direction_mark_in_a_name_is_named(workspace: Workspace, mark: str) -> None:
    text = message(workspace, "name", name=f"Weather{mark}")

    assert text == f"Remove the invisible direction mark U+{ord(mark):04X}."

"""The messages for invalid fields name what there is, in our own words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import WEATHER, Workspace

Json = dict[str, Any]


def messages(workspace: Workspace, body: Json, path: str = "mcp-servers", method: str = "POST") -> dict[str, str]:
    response = workspace.admin.request(method, f"{workspace.path}/{path}", json=body)
    assert response.status_code == 422, response.text
    return {error["path"]: error["message"] for error in response.json()["errors"]}


@pytest.mark.parametrize(
    ("field", "nearest"),
    [("nmae", "name"), ("timeout_seconds", "timeoutSeconds"), ("AUTHTYPE", "authType"), ("urls", "url"), ("x", None)],
)
def test_an_unknown_field_is_answered_with_the_fields_and_the_nearest(
    workspace: Workspace, field: str, nearest: str | None
) -> None:
    hint = f" Did you mean `{nearest}`?" if nearest else ""

    message = messages(workspace, WEATHER | {field: 1})[field]

    assert message.startswith(f"There is no such field.{hint} Fields: name, authType, serviceType, url, config, slug,")


def test_an_unknown_nested_field_is_answered_with_the_fields_of_its_object(workspace: Workspace) -> None:
    found = messages(workspace, WEATHER | {"config": {"header_value": "canary"}})

    assert found["config.header_value"].startswith("There is no such field. Did you mean `headerValue`? Fields: header")
    assert "canary" not in str(found)


def test_an_unknown_field_of_a_change_is_answered_with_its_fields(workspace: Workspace) -> None:
    agent = workspace.make_agent()["id"]

    found = messages(workspace, {"instruction": "Be brief."}, f"agents/{agent}", "PUT")

    assert found["instruction"].startswith("There is no such field. Did you mean `instructions`? Fields: name,")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", 7, "Must be text."),
        ("name", "", "Too short: the minimum length is 1."),
        ("description", "x" * 501, "Too long: the maximum length is 500."),
        ("enabled", "yes", "Must be true or false."),
        ("timeoutSeconds", "5", "Must be a whole number."),
        ("timeoutSeconds", 1.5, "Must be a whole number."),
        ("timeoutSeconds", 0, "Must be at least 1."),
        ("timeoutSeconds", 10**30, "Must be at most 30."),
        ("exposure", "all", "Must be one of `both`, `generic`, `tools`."),
        ("config", "Bearer canary", "Must be a JSON object."),
    ],
)
def test_an_invalid_value_is_answered_in_our_words(
    workspace: Workspace, field: str, value: object, message: str
) -> None:
    assert messages(workspace, WEATHER | {field: value}) == {field: message}


def test_a_list_is_asked_for_in_our_words(workspace: Workspace) -> None:
    assert messages(workspace, {"name": "A", "enabledMcpServerIds": "x"}, "agents") == {
        "enabledMcpServerIds": "Must be a list."
    }

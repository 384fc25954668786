"""The fields of a server, in POST and PUT alike."""

import json
from typing import Any

import pytest

from tests.harness import WEATHER, Workspace, error_paths

GOOD: list[tuple[str, Any]] = [
    ("name", "W"),
    ("name", "n" * 100),
    ("name", "天気予報 ☔ مرحبا"),
    ("name", " kept as it was typed "),
    ("description", ""),
    ("description", "ü" * 500),
    ("description", "Lines\n\tand tabs."),
    ("enabled", False),
    ("enabled", True),
    ("timeoutSeconds", 1),
    ("timeoutSeconds", 30),
    ("exposure", "both"),
    ("exposure", "generic"),
    ("exposure", "tools"),
    ("slug", "w"),
    ("slug", "9"),
    ("slug", "a" * 24),
    ("slug", "weather-2-eu"),
    ("slug", "servers"),
    ("slug", "-a-"),
    ("slug", "my-server"),
    ("url", "https://api.weather.example.com/"),
    ("url", "https://api.weather.example.com/other?region=eu"),
]

BAD: list[tuple[str, Any]] = [
    *(
        ("name", value)
        for value in ["", " ", "\t", "n" * 101, "two\nlines", "nul\x00", "del\x7f", None, 7, True, ["W"]]
    ),
    *(("description", value) for value in ["d" * 501, "bell\x07", "\x7f", "escape\x1b", None, 7, {}]),
    *(("enabled", value) for value in ["true", 1, 0, None, []]),
    *(("timeoutSeconds", value) for value in [0, -1, 31, 1.5, 30.0, "30", True, None, 10**30]),
    *(("exposure", value) for value in ["", "all", "Both", None, 1, ["both"]]),
    *(("slug", value) for value in ["", "A", "a_b", "a b", "ü", "a" * 25, "a\n", 7]),
    *(("slug", value) for value in ["server", "server-", "server-1", "server-x"]),
    *(("url", value) for value in ["", "h" * 2049, 7, None, ["https://example.com"]]),
    *(("authType", value) for value in ["", "bearer", "Header", "header ", None, 1, ["none"]]),
    *(("serviceType", value) for value in ["", "gmail", "External", "a" * 33, "../notion", "no_tion", None, 1]),
    *(("config", value) for value in [None, [], "Bearer canary", 7]),
    *((name, "x") for name in ["id", "version", "createdAt", "updatedAt", "configured", "oauthConnected"]),
    *((name, "x") for name in ["Name", "auth_type", "timeout", "headers", "__proto__", "workspaceId"]),
]

BAD_CONFIG: list[tuple[str, Any]] = [
    *(("headerValue", value) for value in ["", "v" * 8193, 7, True, ["v"], {}]),
    *(("headerValue", value) for value in ["line\nbreak", "line\r\nbreak", "nul\x00", " led", "trailed ", "emoji 🌦"]),
    *(("headers", value) for value in ["X-Key: v", 7, [["X-Key", "v"]]]),
    *((name, "v") for name in ["username", "password", "apiKey"]),
    *((name, "v") for name in ["header_value", "token", "Authorization", "oauth"]),
]


@pytest.mark.parametrize(("field", "value"), GOOD)
def test_a_field_is_stored_unchanged(workspace: Workspace, field: str, value: object) -> None:
    server = workspace.make_server(**{field: value})
    assert server[field] == value

    other = workspace.make_server(name="Other", slug="other")
    path = f"{workspace.servers}/{other['id']}"
    if field == "slug":
        workspace.admin.delete(f"{workspace.servers}/{server['id']}")
    changed = workspace.admin.put(path, json={field: value})
    assert changed.status_code == 200, changed.text
    assert changed.json()[field] == value
    assert workspace.admin.get(path).json() == changed.json()


@pytest.mark.parametrize(("field", "value"), BAD)
def test_an_invalid_field_is_refused_by_its_path(workspace: Workspace, field: str, value: object) -> None:
    response = workspace.admin.post(workspace.servers, json=WEATHER | {field: value})
    assert error_paths(response) == [field]
    assert workspace.admin.get(workspace.servers).json() == []

    server = workspace.make_server()
    path = f"{workspace.servers}/{server['id']}"
    assert error_paths(workspace.admin.put(path, json={field: value})) == [field]
    assert workspace.admin.get(path).json() == server


@pytest.mark.parametrize(("field", "value"), BAD_CONFIG)
def test_an_invalid_credential_is_refused_by_its_path(workspace: Workspace, field: str, value: object) -> None:
    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": {"headerValue": "v", field: value}})
    assert error_paths(response) == [f"config.{field}"]

    server = workspace.make_server()
    path = f"{workspace.servers}/{server['id']}"
    assert error_paths(workspace.admin.put(path, json={"config": {"headerValue": "v", field: value}})) == [
        f"config.{field}"
    ]
    assert workspace.stored_credentials(server["id"]) == {"headerValue": "Bearer canary-weather"}


@pytest.mark.parametrize("field", ["name", "authType"])
def test_a_missing_required_field_is_named(workspace: Workspace, field: str) -> None:
    draft = {name: value for name, value in WEATHER.items() if name != field}

    assert error_paths(workspace.admin.post(workspace.servers, json=draft)) == [field]


def test_an_external_server_needs_a_url(workspace: Workspace) -> None:
    response = workspace.admin.post(workspace.servers, json={"name": "W", "authType": "none"})

    assert error_paths(response) == ["url"]


def test_an_omitted_field_has_a_default(workspace: Workspace) -> None:
    created = workspace.admin.post(
        workspace.servers, json={"name": "Weather", "authType": "none", "url": "https://example.com"}
    ).json()

    assert {
        name: created[name] for name in ("serviceType", "description", "enabled", "timeoutSeconds", "exposure")
    } == {
        "serviceType": "external",
        "description": "",
        "enabled": True,
        "timeoutSeconds": 30,
        "exposure": "both",
    }
    assert created["configured"] == []
    assert "oauthConnected" not in created


def test_all_invalid_fields_are_named_together(workspace: Workspace) -> None:
    wrong = {"name": "", "authType": "x", "timeoutSeconds": 0, "config": {"token": "t"}, "extra": 1}

    assert sorted(error_paths(workspace.admin.post(workspace.servers, json=wrong))) == [
        "authType",
        "config.token",
        "extra",
        "name",
        "timeoutSeconds",
    ]


@pytest.mark.parametrize("body", [[], [WEATHER], "text", 7, True, None])
def test_a_body_that_is_no_object_is_refused(workspace: Workspace, body: object) -> None:
    server = workspace.make_server()

    for method, path in (("POST", workspace.servers), ("PUT", f"{workspace.servers}/{server['id']}")):
        sent = workspace.admin.request(
            method, path, content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        assert error_paths(sent) == [""]


@pytest.mark.requirement("ENC-17")
@pytest.mark.parametrize(
    "config",
    [
        {"headerValue": "canary\n"},
        {"headerValue": ["canary"]},
        {"headerValue": {"canary": "canary"}},
        {"headers": {"X-Key": "canary\n"}},
        {"headers": {"X-Key": ["canary"]}},
        {"headers": {"Bearer canary" + "y" * 64: "v"}},
        {"headers": {"a canary": "v"}},
        {"canary" * 20: "v"},
        {"apiKey": "canary"},
    ],
)
def test_an_error_does_not_repeat_a_credential(workspace: Workspace, config: dict[str, Any]) -> None:
    response = workspace.admin.post(workspace.servers, json=WEATHER | {"config": config})

    assert response.status_code == 422
    assert "canary" not in response.text


def test_long_names_do_not_lengthen_errors(workspace: Workspace) -> None:
    response = workspace.admin.post(
        workspace.servers, json=WEATHER | {f"{number}" + "x" * 5000: 1 for number in range(50)}
    )

    assert error_paths(response) == ["…"] * 20
    assert len(response.content) < 2000


@pytest.mark.parametrize(
    ("service", "ending"),
    [("notoin", " Did you mean `notion`?"), ("extern", " Did you mean `external`?"), ("gmail", "")],
)
def test_an_unknown_service_is_answered_with_the_nearest(workspace: Workspace, service: str, ending: str) -> None:
    response = workspace.admin.post(
        workspace.servers, json={"name": "N", "authType": "oauth", "serviceType": service, "url": None}
    )

    (error,) = response.json()["errors"]
    text = "Unknown service. Available: external, hubspot, linear, notion, posthog, slack."
    assert error == {"path": "serviceType", "message": text + ending}

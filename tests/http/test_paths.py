"""Invalid paths, methods, queries and headers."""

import json
from urllib.parse import quote

import pytest

from tests.harness import Plugboard, Workspace
from tests.http.operations_on_workspace import (
    OAUTH_CALLBACKS,
    OPERATIONS,
    WITH_BODY,
    Operation,
    PopulatedWorkspace,
    assert_problem,
    documented,
)

NO_IDS = {
    "upper case": "SERVER_8JXN",
    "a hyphen": "server-1",
    "NUL": "%00",
    "NUL at its end": "server_1%00",
    "a space": "%20",
    "a slash": "a%2Fb",
    "dots": "%2e%2e",
    "a separator of ours": "x%23y",
    "bytes that are no UTF-8": "%ff%fe",
    "a broken escape": "%zz",
    "a line end": "a%0d%0aSet-Cookie:%20b",
    "41 letters": "a" * 41,
    "3000 letters": "a" * 3000,
    "another script": quote("сервер"),
    "a full-width digit": quote("server_\uff11"),
    "an escape in an escape": "%2500",
}
IN_PATH = [
    pytest.param(operation, name, id=f"{operation}-{name}")
    for operation in OPERATIONS
    for name in ("workspaceId", "serverId", "agentId", "keyId")
    if f"{{{name}}}" in operation.path
]


# What the pages for people answer where there is nothing to show.
WITHOUT_A_TICKET = {"showConnect": 303, "showConnected": 400}


@pytest.mark.parametrize(("operation", "name"), IN_PATH)
def test_a_malformed_id_is_not_found(world: PopulatedWorkspace, operation: Operation, name: str) -> None:
    body = operation.example if operation in WITH_BODY else None

    for text in NO_IDS.values():
        path = operation.path.format(**{**world.ids, name: text})
        response = world.workspace.admin.request(operation.method, path, json=body)
        assert_problem(response, 404, "not_found")
        assert documented(operation, response)


@pytest.mark.parametrize("name", ["ticket", "serviceType", "issuer"])
@pytest.mark.parametrize("text", NO_IDS.values(), ids=NO_IDS)
def test_an_unknown_state_or_ticket_leads_nowhere(world: PopulatedWorkspace, name: str, text: str) -> None:
    stranger = world.workspace.plugboard.caller()

    for operation in OPERATIONS:
        if f"{{{name}}}" in operation.path:
            response = stranger.request(operation.method, operation.path.format(**{**world.ids, name: text}))
            if response.status_code != 303:
                assert_problem(response, 404, "not_found")
            else:
                assert response.headers["Location"] == "/connected?error=expired"


@pytest.mark.parametrize("text", NO_IDS.values(), ids=NO_IDS)
def test_a_metadata_document_of_another_form_is_not_found(world: PopulatedWorkspace, text: str) -> None:
    assert_problem(world.workspace.plugboard.caller().get(f"/client-metadata/{text}"), 404, "not_found")


def test_a_malformed_id_never_reaches_the_store(any_workspace: Workspace) -> None:
    of = any_workspace

    for text in NO_IDS.values():
        for path in (f"{of.servers}/{text}", f"{of.agents}/{text}", f"/api/workspaces/{text}/agents"):
            assert_problem(of.admin.get(path), 404, "not_found")


def test_a_malformed_id_without_a_key_is_unauthorized(world: PopulatedWorkspace) -> None:
    nobody = world.workspace.plugboard.caller()

    for path in (f"{world.workspace.servers}/%00", "/api/workspaces/%00/agents", "/api/workspaces/%00"):
        assert_problem(nobody.get(path), 401, "unauthorized")
        assert_problem(nobody.delete(path.replace("/agents", "")), 401, "unauthorized")


@pytest.mark.requirement("AUT-08")
@pytest.mark.parametrize("text", ["%00", "a" * 3000, "SERVER"])
def test_a_malformed_id_and_an_unknown_id_get_the_same_response(workspace: Workspace, text: str) -> None:
    no_id = workspace.admin.get(f"{workspace.servers}/{text}", headers={"X-Request-Id": "the-same-one"})
    unknown = workspace.admin.get(f"{workspace.servers}/server_1", headers={"X-Request-Id": "the-same-one"})

    assert no_id.content == unknown.content
    assert {name: value for name, value in no_id.headers.items() if name != "date"} == {
        name: value for name, value in unknown.headers.items() if name != "date"
    }


@pytest.mark.parametrize(
    "path",
    ["/", "/api", "/nope", "/api/workspaces/x/nope", "/API/services", "/api/services/linear", "/docs/x", "/.git"],
)
def test_an_unknown_path_is_not_found(plugboard: Plugboard, path: str) -> None:
    assert_problem(plugboard.caller().get(path), 404, "not_found")


def test_a_trailing_slash_makes_no_difference(workspace: Workspace) -> None:
    first, second = workspace.make_server(), workspace.make_server()

    page = workspace.admin.get(f"{workspace.servers}/?limit=1")
    rest = workspace.admin.get(page.links["next"]["url"])

    assert [*page.json(), *rest.json()] == [first, second]
    assert page.links["next"]["url"].startswith(f"{workspace.servers}?")


def test_a_repeated_request_with_a_trailing_slash_runs_once(workspace: Workspace) -> None:
    headers = {"Idempotency-Key": "once"}
    first = workspace.admin.post(workspace.agents, json={"name": "Support"}, headers=headers)
    again = workspace.admin.post(f"{workspace.agents}/", json={"name": "Support"}, headers=headers)

    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Location"] == f"{workspace.agents}/{first.json()['id']}"


def methods_by_path() -> dict[str, list[str]]:
    expected: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        expected.setdefault(operation.path, []).append(operation.method)
    return expected


def allow(path: str, methods: list[str]) -> str:
    return ", ".join(
        sorted({*methods, "OPTIONS", *(["HEAD"] if "GET" in methods and path not in OAUTH_CALLBACKS else [])})
    )


@pytest.mark.parametrize(("path", "methods"), methods_by_path().items(), ids=methods_by_path())
def test_a_405_names_the_allowed_methods(world: PopulatedWorkspace, path: str, methods: list[str]) -> None:
    others = {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - {*methods}

    for method in others:
        response = world.workspace.plugboard.caller().request(method, path.format(**world.ids))
        assert_problem(response, 405, "method_not_allowed")
        assert response.headers["Allow"] == allow(path, methods)


@pytest.mark.parametrize(("path", "methods"), methods_by_path().items(), ids=methods_by_path())
def test_options_names_the_allowed_methods(world: PopulatedWorkspace, path: str, methods: list[str]) -> None:
    response = world.workspace.plugboard.caller().request("OPTIONS", path.format(**world.ids))

    assert (response.status_code, response.headers["Allow"], response.content) == (204, allow(path, methods), b"")


@pytest.mark.parametrize(
    "operation",
    [operation for operation in OPERATIONS if operation.method == "GET" and operation.path not in OAUTH_CALLBACKS],
    ids=str,
)
def test_head_is_get_without_the_body(world: PopulatedWorkspace, operation: Operation) -> None:
    of_operators = operation.path in ("/api/workspaces", "/metrics")
    caller = world.workspace.plugboard.operator if of_operators else world.workspace.admin
    path = world.path(operation)

    received, head = caller.get(path), caller.head(path)

    assert (head.status_code, head.content) == (received.status_code, b"")
    assert received.status_code == WITHOUT_A_TICKET.get(str(operation), 200)
    same = {"Content-Length", "Content-Type", "ETag", "Link", "Location"}
    for name in same - {"Content-Length"} if operation.path == "/metrics" else same:  # its numbers grow meanwhile
        assert head.headers.get(name) == received.headers.get(name)


@pytest.mark.parametrize("path", OAUTH_CALLBACKS)
def test_head_does_not_run_the_oauth_callback(world: PopulatedWorkspace, path: str) -> None:
    response = world.workspace.plugboard.caller().head(path.format(**world.ids))

    assert (response.status_code, response.headers["Allow"], response.content) == (405, "GET, OPTIONS", b"")


@pytest.mark.parametrize(
    "operation",
    [
        operation
        for operation in OPERATIONS
        if operation.path.startswith("/api/") and operation.path not in OAUTH_CALLBACKS
    ],
    ids=str,
)
def test_head_requires_a_key_like_get(world: PopulatedWorkspace, operation: Operation) -> None:
    response = world.workspace.plugboard.caller().head(world.path(operation))

    assert response.status_code == (401 if "GET" in methods_by_path()[operation.path] else 405)
    assert response.content == b""


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=%00", 422),
        ("limit=0", 422),
        ("limit=101", 422),
        ("limit=-1", 422),
        ("limit=1.0", 422),
        ("limit=%201", 422),
        ("limit=" + quote("\uff11"), 422),
        ("limit=" + "9" * 5000, 422),
        ("limit=", 422),
        ("limit=1e1", 422),
        ("cursor=", 400),
        ("cursor=%00", 400),
        ("cursor=%ff", 400),
        ("cursor=%zz", 400),
        ("cursor=" + "A" * 30, 400),
        ("cursor=" + "A" * 16_000, 400),
        ("cursor=" + quote("ключ"), 400),
        ("%00=%00", 422),
        ("%zz", 422),
        ("=&&&==", 422),
        ("&&&", 200),
        ("nope=" + quote("\ud7ff"), 422),
        ("a=b&" * 4000, 422),
    ],
)
def test_a_query_is_parsed_strictly_and_never_breaks_anything(
    world: PopulatedWorkspace, query: str, status: int
) -> None:
    lists = [
        operation
        for operation in OPERATIONS
        if "cursor" in {p["name"] for p in operation.described.get("parameters", [])}
    ]

    for operation in lists:
        caller = world.workspace.plugboard.operator if operation.path == "/api/workspaces" else world.workspace.admin
        response = caller.get(f"{world.path(operation)}?{query}")
        assert response.status_code == status, (operation, response.text)
        assert documented(operation, response)


@pytest.mark.parametrize("text", ["", "yes", "1", "TRUE", "%00", "true%00"])
def test_a_flag_is_true_or_false(world: PopulatedWorkspace, text: str) -> None:
    response = world.workspace.admin.delete(f"{world.workspace.servers}/{world.ids['serverId']}?detach={text}")

    assert assert_problem(response, 422, "invalid")["errors"][0]["path"] == "detach"


def test_a_query_cannot_inject_a_header(workspace: Workspace) -> None:
    """The link to the next page repeats the query."""
    name = '">;rel="first'
    workspace.make_server(name=f"{name} 1"), workspace.make_server(name=f"{name} 2")

    split = workspace.admin.get(f"{workspace.servers}?limit=1&q=%0d%0aSet-Cookie:%20a=b")
    response = workspace.admin.get(workspace.servers, params={"limit": 1, "q": name})

    assert "Set-Cookie" not in split.headers
    assert response.links.keys() == {"next"}
    assert response.links["next"]["url"].startswith(f"{workspace.servers}?")


@pytest.mark.parametrize(
    "value", ["short", "x" * 65, "with space", "a;b=c\tdddd", "<script>alert(1)</script>", "é" * 9]
)
def test_a_request_id_that_could_confuse_a_log_is_replaced(world: PopulatedWorkspace, value: str) -> None:
    response = world.workspace.admin.get("/healthz", headers={"X-Request-Id": value.encode("latin-1")})

    assert response.headers.get_list("X-Request-Id") != [value]
    assert len(response.headers["X-Request-Id"]) == 24


def test_very_many_headers_are_accepted(world: PopulatedWorkspace) -> None:
    response = world.workspace.admin.get(world.workspace.path, headers={f"X-Header-{n}": "x" * 20 for n in range(1000)})

    assert response.status_code == 200


@pytest.mark.parametrize("value", ["", '"', "01", 'W/"1"', '"0"', "null", '"' + "1" * 5000 + '"', "é"])
@pytest.mark.parametrize("name", ["serverId", "agentId", "workspaceId"])
def test_an_etag_that_is_not_the_current_one_is_stale(world: PopulatedWorkspace, name: str, value: str) -> None:
    operation = next(
        operation for operation in OPERATIONS if operation.method == "PUT" and operation.path.endswith(f"{{{name}}}")
    )

    response = world.send(operation, content=json.dumps({}).encode(), headers=as_latin({"If-Match": value}))

    assert_problem(response, 412, "stale")


@pytest.mark.parametrize("value", ["", "x" * 256, "with space", "é"])
def test_an_idempotency_key_of_another_form_is_refused(world: PopulatedWorkspace, value: str) -> None:
    before = world.stored()

    for operation in OPERATIONS:
        if "Idempotency-Key" not in {item["name"] for item in operation.described.get("parameters", [])}:
            continue
        body = {name: text for name, text in operation.example.items() if name not in ("agentIds", "enabled")}
        response = world.send(
            operation, content=json.dumps(body).encode(), headers=as_latin({"Idempotency-Key": value})
        )
        assert assert_problem(response, 422, "invalid")["errors"][0]["path"] == "Idempotency-Key"

    assert world.stored() == before


def as_latin(headers: dict[str, str]) -> dict[str, bytes]:
    return {name: value.encode("latin-1") for name, value in ({"Content-Type": "application/json"} | headers).items()}

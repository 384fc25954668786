"""The blocks of `docs/api.md`."""

import json

from tests.docs.reader import Reader, functions_of
from tests.documents import guide

API = guide("api")


def test_a_key_for_one_agent_is_created_and_revoked(reader: Reader) -> None:
    printed = reader.run(API, "api() {", '"scope": "invoke"', then='echo "$WORKER"; api "$URL/api-keys"')
    worker, keys = printed[0], json.loads(printed[1])

    assert worker.startswith("key_")
    assert worker not in [key["id"] for key in keys]
    records = reader.workspace.admin.get(f"{reader.workspace.audit}?kind=config").json()
    assert [(record["action"], record["target"]["id"]) for record in records[:2]] == [
        ("api_key.revoked", worker),
        ("api_key.created", worker),
    ]


def test_an_operator_creates_and_deletes_a_workspace(reader: Reader) -> None:
    operator = reader.workspace.plugboard.operator_key
    block = functions_of(API) + reader.shell_lines(API.block("sh", "OPERATOR="))

    (listed,) = reader.type(block, OPERATOR=operator)

    assert "Acme" in [workspace["name"] for workspace in json.loads(listed)]
    remaining = reader.workspace.plugboard.operator.get("/api/workspaces").json()
    assert len(remaining) == len(json.loads(listed)) - 1


def test_a_change_of_an_old_version_is_refused(reader: Reader) -> None:
    changed, refused = map(json.loads, reader.run(API, "api() {", "If-Match"))

    assert (changed["name"], changed["version"]) == ("Orders (old)", 2)
    assert (refused["status"], refused["code"]) == (412, "stale")


def test_a_repeated_post_creates_one_server(reader: Reader) -> None:
    first, second = reader.run(API, "api() {", "Idempotency-Key")

    assert json.loads(first) == json.loads(second)
    assert len(reader.workspace.admin.get(reader.workspace.servers).json()) == 1


def test_all_pages_of_a_list_are_read(reader: Reader) -> None:
    names = ["Orders", "Stock", "Billing"]
    for name in names:
        reader.workspace.make_server(name=name)
    pages = reader.shell_lines(API.block("sh", "headers.txt")).replace("limit=10", "limit=2")

    first, last = map(json.loads, reader.type(functions_of(API) + pages))

    assert [server["name"] for server in first + last] == names
    assert [len(first), len(last)] == [2, 1]


def test_the_audit_trail_shows_the_newest_change_first(reader: Reader) -> None:
    (listed,) = reader.run(API, "api() {", "If-Match", "kind=config")[2:]

    actions = [record["action"] for record in json.loads(listed)]
    assert actions[:2] == ["server.updated", "server.created"]
    assert len(actions) <= 5

"""The commands, run in this process; what serves is in tests/e2e."""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path

import pytest

from api.access.context import partition_of
from api.kit.crypto.secret import Secret
from api.main.container import build_container
from api.main.settings import Settings
from tests.commands.conftest import Run
from tests.fakes.postgres import PostgresServer
from tests.harness import served

GOOD_KEY = "test:bHVrzZ1Yp0b6mYtqv3cJx8Q9sWfKd2RgTnUoAiEhLjM="


def test_help_names_every_command(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run("--help")

    assert left.value.code == 0
    text = capsys.readouterr().out
    assert all(f"    {command} " in text for command in ("serve", "setup", "keys", "table"))


@pytest.mark.parametrize(
    "arguments",
    [[], ["keys"], ["table"], ["setup"], ["unknown"], ["setup", "--workspace", "x", "--operator"], ["keys", "destroy"]],
)
def test_an_unknown_command_is_refused(run: Run, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run(*arguments)

    assert left.value.code == 2
    assert "usage: plugboard" in capsys.readouterr().err


def test_setup_creates_a_workspace_whose_key_works(run: Run, data: Settings) -> None:
    (line,) = run("setup", "--workspace", "Acme 株", "--json").splitlines()
    created = json.loads(line)

    assert created.keys() == {"workspaceId", "apiKey"}
    with served(data) as plugboard:
        admin = plugboard.caller(created["apiKey"])
        assert admin.get(f"/api/workspaces/{created['workspaceId']}").json()["name"] == "Acme 株"
        assert admin.get(f"/api/workspaces/{created['workspaceId']}/api-keys").json()[0]["createdBy"] == "setup"
        assert plugboard.operator.get("/api/workspaces").json()[0]["id"] == created["workspaceId"]


def test_setup_creates_an_operator_key_that_works(run: Run, data: Settings) -> None:
    (line,) = run("setup", "--operator", "--json").splitlines()
    created = json.loads(line)

    assert created.keys() == {"apiKey"}
    with served(data) as plugboard:
        assert plugboard.caller(created["apiKey"]).get("/api/workspaces").json() == []


def test_without_json_setup_says_to_keep_the_key_and_ends_with_the_same_line(run: Run) -> None:
    first, *_, last = run("setup", "--workspace", "Acme").splitlines()

    assert "cannot be shown again" in first
    assert json.loads(last).keys() == {"workspaceId", "apiKey"}


def test_setup_may_run_again_and_while_the_service_runs(run: Run, data: Settings) -> None:
    with served(data) as plugboard:
        one, two = (json.loads(run("setup", "--workspace", "Same", "--json")) for _ in range(2))

        assert one["workspaceId"] != two["workspaceId"]
        for created in (one, two):
            assert (
                plugboard.caller(created["apiKey"]).get(f"/api/workspaces/{created['workspaceId']}").status_code == 200
            )


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "two\nlines"])
def test_setup_accepts_the_names_that_the_api_accepts(run: Run, name: str) -> None:
    with pytest.raises(SystemExit, match="name has 1 to 100 characters"):
        run("setup", "--workspace", name)


REFUSED = [
    ({"PLUGBOARD_PORT": "x"}, "PLUGBOARD_PORT"),
    ({"PLUGBOARD_STORE": "foo"}, "PLUGBOARD_STORE"),
    ({"PLUGBOARD_WORKERS": "0"}, "PLUGBOARD_WORKERS"),
    ({"PLUGBOARD_EGRESS_ALLOW": "10.0.0.0/99"}, "PLUGBOARD_EGRESS_ALLOW"),
    ({"PLUGBOARD_STORE": "dynamodb"}, "PLUGBOARD_ROOT_KEY"),
    ({"PLUGBOARD_ROOT_KEY": "short:YWJj"}, "PLUGBOARD_ROOT_KEY"),
    ({"PLUGBOARD_ROOT_KEY": "no-colon"}, "PLUGBOARD_ROOT_KEY"),
    ({"PLUGBOARD_ROOT_KEY": f"a:{'A' * 43}="}, "PLUGBOARD_ROOT_KEY"),
    ({"PLUGBOARD_ROOT_KEY": f"{GOOD_KEY},{GOOD_KEY}"}, "PLUGBOARD_ROOT_KEY"),
    ({"PLUGBOARD_DATA_DIR": "/dev/null/var"}, "PLUGBOARD_DATA_DIR"),
    ({"PLUGBOARD_DATA_DIR": "/proc/var"}, "PLUGBOARD_DATA_DIR"),
]


@pytest.mark.requirement("ENC-06")
@pytest.mark.parametrize("command", [["setup", "--workspace", "Acme"], ["setup", "--operator"]], ids=" ".join)
@pytest.mark.parametrize(("environment", "variable"), REFUSED)
def test_an_invalid_variable_is_named(run: Run, command: list[str], environment: dict[str, str], variable: str) -> None:
    with pytest.raises(SystemExit) as left:
        run(*command, **environment)

    assert str(left.value.code).startswith(f"plugboard: {variable}: ")
    assert "\n" not in str(left.value.code)
    assert not any(value in str(left.value.code) for value in environment.values() if ":" in value)


@pytest.mark.requirement("ENC-06")
def test_the_command_that_generates_a_root_key_is_shown_and_works(run: Run) -> None:
    with pytest.raises(SystemExit) as left:
        run("setup", "--operator", PLUGBOARD_STORE="dynamodb")

    assert "python3 -c" in str(left.value.code)
    assert "PLUGBOARD_KMS_KEY_ID" in str(left.value.code)


def test_a_data_directory_that_is_a_file_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SystemExit, match="PLUGBOARD_DATA_DIR"):
        run("setup", "--operator", PLUGBOARD_DATA_DIR=str(tmp_path / "file"))


def test_a_file_that_is_no_database_is_named(run: Run, tmp_path: Path) -> None:
    run("setup", "--operator")
    (tmp_path / "var/plugboard.db").write_bytes(b"this is a text and no database at all" * 100)

    with pytest.raises(SystemExit, match=r"plugboard\.db"):
        run("keys", "status")


@pytest.mark.requirement("ENC-06")
def test_a_key_file_that_others_can_read_is_refused(run: Run, tmp_path: Path) -> None:
    run("setup", "--operator")
    (tmp_path / "var/root.key").chmod(0o644)

    with pytest.raises(SystemExit, match="chmod 600"):
        run("keys", "status")


def test_an_unknown_workspace_is_named(run: Run) -> None:
    run("setup", "--operator")
    for command in ("status", "rotate", "rewrap"):
        with pytest.raises(SystemExit, match="workspace ws_none does not exist"):
            run("keys", command, "--workspace", "ws_none")


def test_the_keys_of_one_workspace_are_rotated_without_the_others(run: Run) -> None:
    one, two = (json.loads(run("setup", "--workspace", "x", "--json"))["workspaceId"] for _ in range(2))

    assert run("keys", "rotate", "--workspace", one) == f"{partition_of(one)}: now at version 2\n"
    status = run("keys", "status").splitlines()
    assert [line.partition(":")[0] for line in status] == ["SYSTEM", *sorted(map(partition_of, (one, two)))]
    assert {line.partition(":")[0] for line in status if "/v2" in line} == {partition_of(one)}


def test_all_workspaces_are_visited_over_many_pages(run: Run, data: Settings) -> None:
    async def make_many() -> None:
        parts = await build_container(data)
        for number in range(103):
            await ids_with_name(parts, f"Workspace {number}")
        await parts.close()

    asyncio.run(make_many())

    assert len(run("keys", "status").splitlines()) == 1 + 103


async def ids_with_name(parts: object, name: str) -> None:
    from api.main.container import Container  # noqa: PLC0415
    from api.workspaces.service import setup_context  # noqa: PLC0415

    assert isinstance(parts, Container)
    await parts.workspaces.create(setup_context(), name, lambda _: ())


def test_the_table_is_created_once(run: Run, moto_server: str) -> None:
    name = f"test-{uuid.uuid4().hex}"
    dynamo = {"PLUGBOARD_STORE": "dynamodb", "PLUGBOARD_TABLE": name, "PLUGBOARD_DYNAMODB_ENDPOINT": moto_server}

    assert run("table", "create", **dynamo) == f"The table {name} was created.\n"
    assert run("table", "create", **dynamo) == f"The table {name} already exists.\n"

    (line,) = run("setup", "--workspace", "On DynamoDB", "--json", PLUGBOARD_ROOT_KEY=GOOD_KEY, **dynamo).splitlines()
    on_it = Settings(store="dynamodb", table=name, dynamodb_endpoint=moto_server, root_key=Secret(GOOD_KEY))
    with served(on_it) as plugboard:
        created = json.loads(line)
        response = plugboard.caller(created["apiKey"]).get(f"/api/workspaces/{created['workspaceId']}")
        assert response.json()["name"] == "On DynamoDB"


@pytest.mark.slow
def test_the_table_on_postgresql_is_created_once(run: Run, postgres: PostgresServer) -> None:
    url = postgres.url_of(postgres.make_database())
    variables = {"PLUGBOARD_STORE": "postgres", "PLUGBOARD_POSTGRES_URL": url, "PLUGBOARD_TABLE": "my-table"}

    assert run("table", "create", **variables) == "The table my-table was created.\n"
    assert run("table", "create", **variables) == "The table my-table already exists.\n"

    (line,) = run("setup", "--workspace", "Acme", "--json", PLUGBOARD_ROOT_KEY=GOOD_KEY, **variables).splitlines()
    with served(Settings.from_environment({"PLUGBOARD_ROOT_KEY": GOOD_KEY, **variables})) as plugboard:
        created = json.loads(line)
        response = plugboard.caller(created["apiKey"]).get(f"/api/workspaces/{created['workspaceId']}")
        assert response.json()["name"] == "Acme"


def test_postgresql_needs_a_root_key_that_all_machines_share(run: Run) -> None:
    variables = {"PLUGBOARD_STORE": "postgres", "PLUGBOARD_POSTGRES_URL": "postgresql://u:canary@127.0.0.1:9/d"}

    with pytest.raises(SystemExit, match="PLUGBOARD_STORE=postgres, all machines need the same root key") as ended:
        run("serve", **variables)

    assert "canary" not in str(ended.value)


def test_a_missing_table_is_reported(run: Run, moto_server: str) -> None:
    dynamo = {"PLUGBOARD_STORE": "dynamodb", "PLUGBOARD_TABLE": "none", "PLUGBOARD_DYNAMODB_ENDPOINT": moto_server}

    with pytest.raises(SystemExit, match="ResourceNotFoundException"):
        run("keys", "status", PLUGBOARD_ROOT_KEY=GOOD_KEY, **dynamo)


@pytest.mark.parametrize("command", [("serve",), ("table", "create")])
def test_without_a_region_the_error_names_the_missing_variable(
    run: Run, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(SystemExit) as left:
        run(
            *command,
            PLUGBOARD_STORE="dynamodb",
            PLUGBOARD_ROOT_KEY=GOOD_KEY,
            PLUGBOARD_PORT="0",
            AWS_CONFIG_FILE="/dev/null",
        )

    assert "AWS_DEFAULT_REGION" in str(left.value.code)


def test_the_error_about_a_missing_table_says_how_to_create_it(run: Run, dynoxide: str) -> None:
    elsewhere = {"PLUGBOARD_DYNAMODB_ENDPOINT": dynoxide, "PLUGBOARD_TABLE": "not-there"}

    with pytest.raises(SystemExit) as left:
        run("setup", "--operator", PLUGBOARD_STORE="dynamodb", PLUGBOARD_ROOT_KEY=GOOD_KEY, **elsewhere)

    assert "plugboard table create" in str(left.value.code)


def test_a_lost_admin_key_is_replaced_by_a_command(run: Run, data: Settings) -> None:
    workspace_id = json.loads(run("setup", "--workspace", "Acme", "--json"))["workspaceId"]

    created = json.loads(run("setup", "--admin-key", workspace_id, "--json"))

    with served(data) as plugboard:
        admin = plugboard.caller(created["apiKey"])
        keys = admin.get(f"/api/workspaces/{workspace_id}/api-keys").json()
        trail = admin.get(f"/api/workspaces/{workspace_id}/audit").json()
    assert [(key["name"], key["scope"]) for key in keys].count(("Admin key", "admin")) == 1
    assert (trail[0]["action"], trail[0]["actor"]["id"]) == ("api_key.created", "setup")


def test_a_lost_admin_key_is_replaced_at_the_limit_too(run: Run) -> None:
    workspace_id = json.loads(run("setup", "--workspace", "Acme", "--json"))["workspaceId"]

    assert json.loads(run("setup", "--admin-key", workspace_id, "--json", PLUGBOARD_MAX_API_KEYS="1"))["apiKey"]


def test_one_workspace_more_than_the_limit_is_refused_in_one_line(run: Run) -> None:
    run("setup", "--workspace", "Acme", PLUGBOARD_MAX_WORKSPACES="1")

    with pytest.raises(SystemExit) as left:
        run("setup", "--workspace", "Other", PLUGBOARD_MAX_WORKSPACES="1")

    assert str(left.value.code).startswith("plugboard: The installation has 1 workspaces")
    assert "`PLUGBOARD_MAX_WORKSPACES`" in str(left.value.code)


def test_an_unknown_workspace_gets_no_admin_key(run: Run) -> None:
    run("setup", "--operator")
    with pytest.raises(SystemExit) as left:
        run("setup", "--admin-key", "ws_00000000000000000000")

    assert "workspace ws_00000000000000000000 does not exist" in str(left.value.code)


@pytest.mark.parametrize("command", ["status", "rotate", "rewrap"])
def test_a_mistyped_directory_does_not_become_a_new_installation(run: Run, tmp_path: Path, command: str) -> None:
    with pytest.raises(SystemExit) as left:
        run("keys", command, PLUGBOARD_DATA_DIR=str(tmp_path / "typo"))

    assert "PLUGBOARD_DATA_DIR" in str(left.value.code)
    assert not (tmp_path / "typo").exists()


def test_operator_keys_are_listed_and_revoked(run: Run, data: Settings) -> None:
    key = json.loads(run("setup", "--operator", "--json"))["apiKey"]
    key_id = run("operator-keys", "list").split()[0]
    assert key_id.removeprefix("key_") in key

    with served(data) as plugboard:
        operator = plugboard.caller(key)
        assert operator.get("/api/workspaces").status_code == 200
        assert run("operator-keys", "revoke", key_id) == f"{key_id} is revoked.\n"
        assert operator.get("/api/workspaces").status_code == 401

    with pytest.raises(SystemExit, match=r"operator key .* does not exist"):
        run("operator-keys", "revoke", key_id)


def test_a_world_writable_directory_is_refused(run: Run, tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)

    with pytest.raises(SystemExit, match="PLUGBOARD_DATA_DIR: every user can write"):
        run("setup", "--operator", PLUGBOARD_DATA_DIR=str(open_to_all))

"""The tables of the documents list what the code has: no entry is missing, and none is made up."""

import ast
import re
from collections.abc import Iterator
from typing import get_args

import pytest

from api.access.principal import Scope
from api.audit.events import Action, Outcome
from api.audit.repository import RecordKind
from api.connections.consent.html import FAILURES
from api.errors import AppError
from api.kit.logs import FIELDS as LOG_FIELDS
from api.main.cli import main
from api.main.settings import ADDRESSES, Settings
from api.servers.rules import FIELDS as CONFIG_FIELDS
from api.servers.schemas import ConfigDraft, ServerDraft
from api.servers.server import EXTERNAL, AuthType, Exposure, OAuthGrant
from api.toolbox.calling.circuit_breakers import State
from api.toolbox.health import Status
from api.toolbox.listing.client_formats import Format
from api.toolbox.output.tool_result import NEVER_DONE, FailureKind
from api.toolbox.unavailable_reason import UnavailableReason
from tests.architecture.modules import modules
from tests.architecture.test_imports import LEVELS
from tests.architecture.test_repository import variables_read
from tests.documents import CONTRIBUTING, PROJECT, Document, code_in, documents, guide
from tests.requirements import REQUIREMENTS

API, SERVERS, CONNECT, TOOLS = guide("api"), guide("servers"), guide("connect"), guide("tools")
ERRORS, CONFIGURATION, OPERATING = guide("errors"), guide("configuration"), guide("operating")
TEXT_OF_LINES = ("at", "level", "logger", "message", "error", "where")


def first_column(document: Document, title: str, head: str = "") -> list[str]:
    return [name for row in document.table(title, head) for name in code_in(row[0])]


def problems(kind: type[AppError] = AppError) -> Iterator[type[AppError]]:
    for subclass in kind.__subclasses__():
        yield from (subclass, *problems(subclass))


def test_every_code_of_a_problem_is_explained() -> None:
    explained = {code_in(code)[0]: int(status) for code, status, _, _ in ERRORS.table("Requests")}

    assert explained == {problem.code: problem.status for problem in problems()}


def test_every_kind_of_failure_is_explained_with_the_outcome_of_the_tool() -> None:
    rows = {code_in(kind)[0]: carried_out for kind, _, carried_out in ERRORS.table("Tool calls")}

    assert list(rows) == list(FailureKind)
    assert {kind for kind, carried_out in rows.items() if carried_out == "no"} == NEVER_DONE


def test_every_reason_why_a_server_has_no_tools_is_explained() -> None:
    assert first_column(ERRORS, "Servers without tools") == list(UnavailableReason)


def test_every_error_code_of_a_callback_is_explained() -> None:
    assert sorted(first_column(CONNECT, "Where the browser goes")) == sorted(FAILURES)


def test_every_scope_of_a_key_is_explained() -> None:
    assert first_column(API, "Keys and scopes") == list(Scope)


def test_every_action_of_the_audit_trail_is_listed() -> None:
    written = {action for module in modules("api") for action in actions(module.tree)}
    listed = [action for row in API.table("Audit trail") for action in code_in(row[1])]

    assert sorted(listed) == sorted(written) == sorted(Action)


def actions(tree: ast.Module) -> Iterator[Action]:
    """Those that the code writes."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name("Action"), attr=name):
                yield Action[name]


def test_every_kind_of_record_and_outcome_of_a_call_is_named() -> None:
    named = code_in(API.section("Audit trail"))

    assert {f"?kind={kind}" for kind in RecordKind} <= set(named)
    assert {Outcome.OK, Outcome.TOOL_ERROR, Outcome.NOT_FOUND, Outcome.ABANDONED} <= set(named)


def test_every_field_of_a_server_is_explained_with_its_default() -> None:
    rows = {code_in(field)[0]: (meaning, default) for field, meaning, default in SERVERS.table("Store a server")}
    fields = {field.alias: field for field in ServerDraft.model_fields.values()}

    assert rows.keys() == fields.keys()
    for name, (_, default) in rows.items():
        assert (default == "required") is (fields[name].is_required() or name == "url")
        if str(fields[name].default) in (*AuthType, *Exposure, *OAuthGrant, EXTERNAL, "True", "30"):
            assert default.strip("`").capitalize() == str(fields[name].default).capitalize()
    assert set(Exposure) <= set(code_in(rows["exposure"][0]))
    assert set(OAuthGrant) <= set(code_in(rows["oauthGrant"][0]))


def test_every_auth_type_is_explained_with_its_credentials() -> None:
    rows = {code_in(row[0])[0]: code_in(row[1]) for row in SERVERS.table("Credentials", "`authType`")}

    assert rows == {kind.value: list(CONFIG_FIELDS[kind]) for kind in AuthType}
    assert {name for names in rows.values() for name in names} | {"apiKey"} == {
        field.alias for field in ConfigDraft.model_fields.values()
    }


def test_every_status_of_a_check_is_explained() -> None:
    assert first_column(SERVERS, "Check a server") == list(get_args(Status))
    assert set(get_args(State)) <= set(code_in(SERVERS.section("Check a server")))


def test_every_format_of_a_list_is_named() -> None:
    assert set(Format) <= set(code_in(TOOLS.section("Lists")))


def test_exactly_the_variables_that_are_read_are_documented() -> None:
    documented = {
        name
        for title in ("Serving", "Limits", "Storage", "Root keys", "Connect", "Private networks")
        for name in first_column(CONFIGURATION, title)
    }
    of_services = {name.removeprefix("{SERVICE}_") for name in first_column(CONFIGURATION, "Services")}

    assert documented == variables_read()
    assert of_services == {suffix.removeprefix("_") for suffix in ADDRESSES} | {
        "OAUTH_CLIENT_ID",
        "OAUTH_CLIENT_SECRET",
    }


@pytest.mark.parametrize("document", documents(), ids=lambda document: document.path)
def test_a_document_names_no_variable_that_is_not_read(document: Document) -> None:
    named = set(re.findall(r"\b(?:PLUGBOARD_[A-Z_]+|OAUTH_REDIRECT_[A-Z_]+)\b", document.text))

    assert named <= variables_read() | variables_of_tests()


def variables_of_tests() -> set[str]:
    """Those that tests read from the environment."""
    return {name for module in modules("tests") for name in re.findall(r'os\.environ\.get\("(\w+)"\)', module.source)}


def test_the_defaults_of_the_variables_are_those_of_the_code() -> None:
    settings = Settings.from_environment({})
    rows = {
        code_in(row[0])[0]: (code_in(row[2]) or [row[2]])[0]
        for title in ("Serving", "Storage", "Connect")
        for row in CONFIGURATION.table(title)
    }

    assert rows["PLUGBOARD_HOST"] == settings.host
    assert rows["PLUGBOARD_PORT"] == str(settings.port)
    assert rows["PLUGBOARD_WORKERS"] == str(settings.workers)
    assert rows["PLUGBOARD_METRICS_HOST"] == settings.metrics_host
    assert rows["PLUGBOARD_STORE"] == settings.store
    assert rows["PLUGBOARD_DATA_DIR"] == f"./{settings.data_dir}"
    assert rows["PLUGBOARD_TABLE"] == settings.table
    assert settings.public_url == f"{rows['OAUTH_REDIRECT_BASE_URL']}{settings.port}"
    assert [name for name, default in rows.items() if default == "none"] == [
        "PLUGBOARD_METRICS_PORT",
        "PLUGBOARD_TRUSTED_PROXIES",
        "PLUGBOARD_POSTGRES_URL",
    ]
    assert settings.postgres is None
    assert rows["PLUGBOARD_POSTGRES_CONNECTIONS"] == str(settings.postgres_connections)
    assert (settings.metrics_port, settings.trusted_proxies, settings.dynamodb_endpoint) == (0, "", None)


def commands() -> list[list[str]]:
    return [code_in(row[0])[0].split() for row in CONFIGURATION.table("Commands")]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_that_is_documented_exists(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command[0] == "plugboard"
    with pytest.raises(SystemExit) as ended:
        main([*command[1:], "--help"])

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: plugboard")


def test_every_command_that_exists_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    documented = {" ".join(word for word in command if word.islower()) for command in commands()}

    assert set(leaves([], capsys)) == {command.partition(" --")[0] for command in documented}


def leaves(above: list[str], capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """The commands below, as the help lists them."""
    with pytest.raises(SystemExit):
        main([*above, "--help"])
    below = re.findall(r"^    ([a-z-]+)(?: |$)", capsys.readouterr().out.partition("options:")[0], re.MULTILINE)
    if not below:
        yield " ".join(["plugboard", *above])
    for name in below:
        yield from leaves([*above, name], capsys)


def test_every_field_of_a_log_line_is_explained() -> None:
    assert sorted(first_column(OPERATING, "Logs")) == sorted((*LOG_FIELDS, *TEXT_OF_LINES))


def test_every_guarantee_names_tested_requirements() -> None:
    rows = guide("security").table("What is guaranteed, and how")
    named = [name for row in rows for name in re.split(r", ", row[-1])]

    assert all(row[-1] for row in rows)
    assert {name for name in named if name not in REQUIREMENTS} == set()


def test_every_folder_is_described_with_its_level() -> None:
    rows = CONTRIBUTING.table("Folders")
    described = {folder.replace("/", "."): int(level) for folders, level, _ in rows for folder in code_in(folders)}

    assert described.items() <= LEVELS.items()
    assert {name for name in LEVELS if (PROJECT / name.replace(".", "/")).is_dir()} == described.keys()


def test_the_glossary_is_sorted_and_has_each_word_once() -> None:
    words = [word for word, _ in guide("glossary").table("")]

    assert words == sorted(words, key=str.lower)
    assert len(set(words)) == len(words)
    assert set(words) >= WORDS


WORDS = {
    *("workspace", "API key", "server", "service", "connection", "agent", "tool", "toolset", "toolbox", "sealed"),
    *("upstream", "revision", "grant", "lease", "generation", "outbox", "exposure", "era", "slug", "operator"),
}
"""Those that the code is written in."""

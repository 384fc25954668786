"""The contract is what the code does, what is committed, and what is served; and it is a good one."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from openapi_spec_validator import validate

from api import errors
from api.audit.events import Action
from api.http.openapi.components import PROBLEMS
from api.main.app import build_router_app
from api.main.cli import main
from api.main.settings import Settings
from api.servers.rules import FIELDS as CONFIG_FIELDS
from api.servers.server import EXTERNAL, OAuthGrant
from api.toolbox.output.tool_result import FailureKind
from api.toolbox.unavailable_reason import UnavailableReason
from integrations import services
from tests.documents import code_in
from tests.harness import Plugboard
from tests.http.operations_on_workspace import (
    CONTRACT,
    CONTRACT_FILE,
    OAUTH_CALLBACKS,
    OPERATIONS,
    WITH_BODY,
    Operation,
    resolved,
)

PROJECT = Path(__file__).parents[2]
SCHEMAS = CONTRACT["components"]["schemas"]
BODIES = {str(operation): operation.body_schema for operation in WITH_BODY}


def with_components(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of the contract that can be used by itself."""
    return {**schema, "components": CONTRACT["components"]}


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(with_components(schema), validate_formats=True).is_valid(value)


def parts(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a document, from the outside in."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(inner)


def test_the_committed_contract_is_the_generated_one() -> None:
    text = build_router_app(Settings()).state.openapi.yaml.decode()
    committed = CONTRACT_FILE.read_text()

    difference = "".join(
        difflib.unified_diff(committed.splitlines(keepends=True), text.splitlines(keepends=True), "committed", "code")
    )
    assert not difference, f"openapi.yaml is not what the code says: run `make openapi`.\n{difference}"


def test_the_served_contract_is_the_committed_one(plugboard: Plugboard) -> None:
    response = plugboard.caller().get("/openapi.yaml")

    assert response.headers["Content-Type"].startswith("application/yaml")
    assert response.content == CONTRACT_FILE.read_bytes()


def test_make_openapi_prints_the_contract(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    main(["openapi"])

    assert capsysbinary.readouterr().out == CONTRACT_FILE.read_bytes()
    assert "$(BIN)/plugboard openapi > openapi.yaml" in (PROJECT / "Makefile").read_text()


def test_it_is_openapi_3_1() -> None:
    validate(CONTRACT)

    assert CONTRACT["openapi"].startswith("3.1.")


def test_its_version_is_the_projects() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]

    assert CONTRACT["info"]["version"] == project["version"]


def test_every_route_is_in_it() -> None:
    served = {
        (method, re.sub(r"\{(\w+)[^}]*\}", "{}", route.path))
        for route in build_router_app(Settings()).routes
        for method in getattr(route, "methods", ()) - {"OPTIONS", "HEAD"}
    }

    assert served == {(operation.method, re.sub(r"\{\w+\}", "{}", operation.path)) for operation in OPERATIONS}


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_every_operation_describes_its_effect_and_requirements(operation: Operation) -> None:
    described = operation.described

    assert described["summary"]
    assert len(described["description"].split("\n\n")) == 2
    assert described["description"].rpartition("\n\n")[2].startswith("Requires ")
    asks_for_a_key = operation.path.startswith(("/api/", "/metrics")) and operation.path not in OAUTH_CALLBACKS
    assert described["security"] == ([{"apiKey": []}] if asks_for_a_key else [])
    assert set(described["tags"]) <= {tag["name"] for tag in CONTRACT["tags"]}
    assert all(item["description"] and item["schema"] for item in described.get("parameters", []))


def test_operation_ids_are_unique_and_fit_for_method_names() -> None:
    ids = [str(operation) for operation in OPERATIONS]

    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][A-Za-z]{2,39}", id_) for id_ in ids)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_every_response_has_a_schema_and_valid_examples(operation: Operation) -> None:
    for status, answer in operation.described["responses"].items():
        described = resolved(answer)
        assert described["description"]
        assert "X-Request-Id" in described["headers"]
        if status in ("204", "303", "304"):
            assert "content" not in described
            continue
        ((media_type, media),) = described["content"].items()
        is_for_people = media_type == "text/html"  # browsers see the error on a page
        assert (media_type == "application/problem+json") == (int(status) >= 400 and not is_for_people)
        examples = (
            [media["example"]] if "example" in media else [e["value"] for e in media.get("examples", {}).values()]
        )
        assert examples or media["schema"] == {"type": "string"}  # but for the contract itself, and its page
        assert all(is_valid(media["schema"], example) for example in examples), examples


@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_the_example_of_a_body_is_valid(operation: Operation) -> None:
    assert is_valid(operation.body_schema, operation.example)
    assert not is_valid(operation.body_schema, operation.example | {"unknown": 1})
    assert operation.described["requestBody"]["required"] is True


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_an_example_of_a_parameter_is_valid(operation: Operation) -> None:
    for parameter in operation.described.get("parameters", []):
        if "example" in parameter:
            assert is_valid(parameter["schema"], parameter["example"]), parameter["name"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_the_errors_of_an_operation_follow_from_its_input(operation: Operation) -> None:
    statuses = set(operation.described["responses"])
    names = {item["name"] for item in operation.described.get("parameters", [])}

    assert {"401", "500", "503"} <= statuses or operation.described["security"] == []
    assert ("404" in statuses) == ("{" in operation.path)
    assert ("415" in statuses) == ("413" in statuses) == ("requestBody" in operation.described)
    assert ("412" in statuses) == ("If-Match" in names)
    # The one without a body is the check of a server, which has no effect.
    takes_key = operation.method == "POST" and "requestBody" in operation.described
    assert ("Idempotency-Key" in names) == takes_key
    assert ("If-Match" in names) == (operation.method in ("PUT", "PATCH", "DELETE"))
    assert ("limit" in names) == ("cursor" in names)


def kinds_of_errors() -> set[type[errors.AppError]]:
    return {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.AppError) and kind is not errors.AppError
    }


def test_every_kind_of_error_has_an_example() -> None:
    kinds = kinds_of_errors()

    assert kinds - PROBLEMS.keys() == {errors.MethodNotAllowed, errors.UriTooLong}  # these belong to no operation
    assert len({kind.code for kind in kinds}) == len(kinds)


def test_the_limits_of_a_server_are_in_the_contract() -> None:
    draft = BODIES["createServer"]
    fields = draft["properties"]

    assert draft["additionalProperties"] is False
    assert draft["required"] == ["name", "authType"]
    assert (fields["name"]["minLength"], fields["name"]["maxLength"]) == (1, 100)
    assert (fields["timeoutSeconds"]["minimum"], fields["timeoutSeconds"]["maximum"]) == (1, 30)
    assert fields["timeoutSeconds"]["default"] == 30
    assert fields["slug"]["maxLength"] == 24
    assert fields["url"]["type"] == ["string", "null"]
    assert resolved(fields["authType"])["enum"] == ["none", "header", "basic", "oauth"]
    assert resolved(fields["exposure"])["enum"] == ["both", "generic", "tools"]
    assert "default" not in fields["config"]


@pytest.mark.parametrize(
    ("body", "good"),
    [
        ({"name": "Weather", "authType": "none"}, True),
        ({"name": "Weather", "authType": "none", "slug": "weather-api"}, True),
        ({"name": "Weather", "authType": "none", "slug": "weather_api"}, False),
        ({"name": "Weather", "authType": "none", "slug": "-"}, True),
        ({"name": "Weather", "authType": "none", "slug": "Weather"}, False),
        ({"name": "Weather\n", "authType": "none"}, False),
        ({"name": " ", "authType": "none"}, False),
        ({"name": "Погода", "authType": "none"}, True),
        ({"name": "Weather", "authType": "digest"}, False),
        ({"name": "Weather", "authType": "none", "timeoutSeconds": 31}, False),
        ({"name": "Weather", "authType": "header", "config": {"token": "x"}}, False),
        ({"name": "Weather", "authType": "header", "config": {"headerValue": None}}, True),
        ({"name": "Weather", "authType": "header", "config": {"headers": {"": "x"}}}, False),
        ({"name": "Weather", "authType": "header", "config": {"headers": {"X-Key": "x"}}}, True),
    ],
)
def test_the_schema_tells_valid_bodies_from_invalid_ones(body: dict[str, Any], good: bool) -> None:
    assert is_valid(BODIES["createServer"], body) is good


@pytest.mark.requirement("ENC-17")
def test_credentials_are_write_only_and_in_no_response() -> None:
    fields = SCHEMAS["ConfigDraft"]["properties"]
    secrets = [fields[name] for name in fields if name != "headers"] + [fields["headers"]["additionalProperties"]]
    outgoing = {name for name in SCHEMAS if not name.endswith(("Draft", "Change"))}

    assert all(secret["format"] == "password" and secret["writeOnly"] is True for secret in secrets)
    assert SCHEMAS["ConfigDraft"]["additionalProperties"] is False
    for name in outgoing:
        assert "config" not in SCHEMAS[name].get("properties", {})
        assert "ConfigDraft" not in str(SCHEMAS[name])


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name.endswith("Change")])
def test_a_patch_accepts_any_subset_and_has_no_defaults(name: str) -> None:
    schema = SCHEMAS[name]

    assert "required" not in schema
    assert is_valid(schema, {})
    assert all("default" not in field for field in schema["properties"].values())
    assert schema["additionalProperties"] is False


def test_responses_allow_unknown_fields_and_requests_do_not() -> None:
    for name, schema in SCHEMAS.items():
        if schema["type"] == "object":
            assert schema.get("additionalProperties", True) is not name.endswith(("Draft", "Change"))
    assert all(schema["additionalProperties"] is False for schema in BODIES.values())


def test_every_field_has_a_description() -> None:
    schemas = [*SCHEMAS.values(), *BODIES.values()]
    fields = [item for schema in schemas for part in parts(schema) for item in part.get("properties", {}).items()]

    assert len(fields) > 100
    assert [name for name, field in fields if not field.get("description")] == []


def test_the_fields_of_config_are_listed_for_each_auth_type_and_service() -> None:
    config = BODIES["createServer"]["properties"]["config"]
    table = [row for row in config["description"].splitlines() if row.startswith("| `")][1:]
    rows = [[code_in(cell) for cell in row.split("|")[1:4]] for row in table]
    listed = {(kind, service): names for [kind], names_of_services, names in rows for service in names_of_services}
    of_services = {
        (kind, name): [field.name for field in service.config_fields]
        for name, service in services().items()
        for kind in service.auth_types
    }

    assert listed == {(kind, EXTERNAL): [*names] for kind, names in CONFIG_FIELDS.items()} | of_services
    assert all(is_valid(resolved(config), example) for example in config["examples"])
    assert {name for example in config["examples"] for name in example} | {"privateKey"} == {
        name for names in listed.values() for name in names
    }


def test_only_bodies_in_place_have_defaults() -> None:
    """openapi-typescript takes a field with a default in a shared schema as required."""
    assert [name for name, schema in SCHEMAS.items() if any("default" in part for part in parts(schema))] == []
    assert any("default" in part for part in parts(BODIES["createServer"]))


def test_words_for_programs_are_enumerated() -> None:
    problem, record = SCHEMAS["Problem"]["properties"], SCHEMAS["Audit"]["properties"]

    assert set(problem["code"]["enum"]) == {kind.code for kind in kinds_of_errors()}
    assert set(record["action"]["enum"]) == set(Action)
    assert resolved(SCHEMAS["Unavailable"]["properties"]["reason"])["enum"] == list(UnavailableReason)
    assert resolved(SCHEMAS["CallError"]["properties"]["kind"])["enum"] == list(FailureKind)
    grant = resolved(SCHEMAS["Server"]["properties"]["oauthGrant"])
    assert (grant["type"], grant["enum"]) == ("string", list(OAuthGrant))


def test_times_have_the_date_time_format() -> None:
    times = [
        field
        for schema in SCHEMAS.values()
        for name, field in schema.get("properties", {}).items()
        if name[-2:] == "At"
    ]

    assert times
    assert all(field["format"] == "date-time" for field in times)


def test_schemas_have_no_redundant_keywords() -> None:
    for name, schema in SCHEMAS.items():
        assert schema["title"] == name
        for part in parts(schema.get("properties", {})):
            assert not isinstance(part.get("title"), str), f"a title in {name}"
            assert "patternProperties" not in part
            assert not ({"type": "null"} in part.get("anyOf", []) and "type" in part["anyOf"][0])  # a `$ref` has none
            assert not ("default" in part and isinstance(part["default"], dict | None))


def test_every_component_is_used() -> None:
    text = CONTRACT_FILE.read_text()

    for section in ("schemas", "responses", "headers"):
        for name in CONTRACT["components"][section]:
            assert f"'#/components/{section}/{name}'" in text, name


def test_the_contract_is_plain_yaml() -> None:
    text = CONTRACT_FILE.read_text()

    assert yaml.safe_load(text) == CONTRACT
    assert not re.search(r"[&*]id\d", text)  # no anchors: some readers do not know them

"""No answer has a sentence of pydantic's: each kind of wrong value in each field that can be written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from api.agents.schemas import AgentChange, AgentDraft
from api.api_keys.schemas import ApiKeyDraft
from api.http.models import RequestModel
from api.servers.schemas import ConfigDraft, ServerChange, ServerDraft
from api.toolbox.schemas import CallDraft
from api.workspaces.schemas import WorkspaceChange, WorkspaceDraft
from tests.http.operations_on_workspace import WITH_BODY, PopulatedWorkspace

MODELS: dict[str, type[RequestModel]] = {
    "createWorkspace": WorkspaceDraft,
    "updateWorkspace": WorkspaceChange,
    "createServer": ServerDraft,
    "updateServer": ServerChange,
    "createAgent": AgentDraft,
    "updateAgent": AgentChange,
    "createApiKey": ApiKeyDraft,
    "callTool": CallDraft,
}
WRONG: list[Any] = [
    *(None, True, 0, -1, 7, 1.5, 1e300, 10**18, "", " ", "x", "\x00", "é" * 40_000, "2027-13-01T00:00:00Z"),
    *([], [None], [7], ["x"], ["x", "x"], [[]], [{}], ["x"] * 600),
    *({}, {"x": None}, {"x": 7}, {"x": []}, {"x": "x"}, {"x": [7]}, {"": "x"}, {"x" * 600: {"x": {}}}),
    {f"x{number}": "x" for number in range(600)},
]
KINDS_OF_PYDANTIC = frozenset(get_args(ErrorType))
VAGUE = "This value is not valid."


def bodies(model: type[RequestModel], example: dict[str, Any]) -> Iterator[Any]:
    yield from (value for value in WRONG if value != {})
    for name in json_names(model):
        yield from ({**example, name: value} for value in WRONG)
    if "config" in example or "config" in json_names(model):
        for name in json_names(ConfigDraft):
            yield from ({**example, "config": {name: value}} for value in WRONG)


def json_names(model: type[RequestModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def sentences_of_pydantic(model: type[RequestModel], body: Any) -> set[str]:
    try:
        model.model_validate(body)
    except ValidationError as error:
        return {detail["msg"] for detail in error.errors() if detail["type"] in KINDS_OF_PYDANTIC - {"value_error"}}
    return set()


def test_every_body_is_tried() -> None:
    assert {str(operation) for operation in WITH_BODY if operation.method != "PATCH"} == MODELS.keys()


@pytest.mark.parametrize("name", MODELS)
def test_no_sentence_of_pydantic_is_in_an_answer(world: PopulatedWorkspace, name: str) -> None:
    operation = next(operation for operation in WITH_BODY if str(operation) == name)
    example = {key: value for key, value in operation.example.items() if key not in ("enabledMcpServerIds", "agentIds")}
    refused = 0

    for body in bodies(MODELS[name], example):
        sentences = sentences_of_pydantic(MODELS[name], body)
        response = world.send(operation, content=json.dumps(body), headers={"Content-Type": "application/json"})
        if response.status_code != 422:
            assert not sentences, (body, response.status_code)
            continue
        refused += 1
        messages = {error["message"] for error in response.json()["errors"]}
        assert messages.isdisjoint({*sentences, VAGUE}), (body, messages)

    assert refused >= 20

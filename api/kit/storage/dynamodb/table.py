"""Creation of the table without CloudFormation, from its definition in `stack.yaml`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import BotoCoreError, ClientError

from api.kit.storage.store import StoreUnavailable

STACK = Path(__file__).with_name("stack.yaml")
SET_BY_CALLS_OF_THEIR_OWN = ("TimeToLiveSpecification", "PointInTimeRecoverySpecification")
TRIES = 60


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short tags: `!Ref Name` becomes `{"Ref": "Name"}`, as in its JSON."""


def _short_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.ScalarNode | yaml.SequenceNode) -> dict[str, Any]:
    if isinstance(node, yaml.SequenceNode):
        return {f"Fn::{suffix}": loader.construct_sequence(node, deep=True)}
    text = str(loader.construct_scalar(node))
    match suffix:
        case "Ref":
            return {"Ref": text}
        case "GetAtt":
            return {"Fn::GetAtt": text.split(".")}
        case _:
            return {f"Fn::{suffix}": text}


_Loader.add_multi_constructor("!", _short_tag)


def stack() -> dict[str, Any]:
    template: dict[str, Any] = yaml.load(STACK.read_text(encoding="utf-8"), _Loader)  # noqa: S506  a SafeLoader
    return template


def table_definition(name: str) -> dict[str, Any]:
    """The parameters of `CreateTable`."""
    properties = _properties()
    definition = {key: value for key, value in properties.items() if key not in SET_BY_CALLS_OF_THEIR_OWN}
    encrypted = {"Enabled": properties["SSESpecification"]["SSEEnabled"]}  # the only name that differs
    return definition | {"TableName": name, "SSESpecification": encrypted}


def create_table(client: Any, name: str, *, pause: Callable[[float], None] = time.sleep) -> bool:
    """Create the table as the stack does, and wait until it is ready. False if it exists already."""
    try:
        return _create_table(client, name, pause)
    except ClientError as error:
        raise StoreUnavailable(f"DynamoDB answered {_code(error)}") from None
    except BotoCoreError as error:
        raise StoreUnavailable(f"DynamoDB cannot be reached: {type(error).__name__}") from None


def _create_table(client: Any, name: str, pause: Callable[[float], None]) -> bool:
    try:
        client.create_table(**table_definition(name))
    except ClientError as error:
        if _code(error) == "ResourceInUseException":
            return False
        raise
    _until(lambda: client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE", pause)
    properties = _properties()
    client.update_time_to_live(TableName=name, TimeToLiveSpecification=properties["TimeToLiveSpecification"])
    _until(lambda: _recovery_is_on(client, name, properties["PointInTimeRecoverySpecification"]), pause)
    return True


@cache
def _properties() -> dict[str, Any]:
    properties: dict[str, Any] = stack()["Resources"]["Table"]["Properties"]
    return properties


def _recovery_is_on(client: Any, name: str, specification: dict[str, Any]) -> bool:
    try:
        client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=specification)
    except ClientError as error:
        match _code(error):
            case "ContinuousBackupsUnavailableException":  # for a short while after the table was created
                return False
            case "UnknownOperationException":  # local substitutes for DynamoDB have no backups
                return True
            case _:
                raise
    return True


def _until(done: Callable[[], bool], pause: Callable[[float], None]) -> None:
    for _ in range(TRIES):
        if done():
            return
        pause(1.0)
    raise StoreUnavailable("the table was created but did not become ready")


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])

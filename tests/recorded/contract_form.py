"""The normal form of the OpenAPI contract: without prose, and without the names of its components."""

from __future__ import annotations

from typing import Any

import yaml

from tests.recorded.prose import contract_without_prose

Json = dict[str, Any]


def normal_contract(text: str) -> Json:
    """Components are numbered in the order in which the paths refer to them: their names are those of classes."""
    contract = yaml.load(text, yaml.CSafeLoader)
    numbers: dict[str, str] = {}
    paths = _numbered(contract["paths"], numbers)
    components: Json = {}
    while len(components) < len(numbers):
        reference = list(numbers)[len(components)]
        components[numbers[reference]] = _numbered(_component(contract, reference), numbers)
    schemes = contract["components"]["securitySchemes"]
    return contract_without_prose(
        {**contract, "paths": paths, "components": {**components, "securitySchemes": schemes}}
    )


def _numbered(value: Any, numbers: dict[str, str]) -> Any:
    match value:
        case {"$ref": str(reference)}:
            numbers.setdefault(reference, f"component {len(numbers) + 1}")
            beside = {name: _numbered(item, numbers) for name, item in value.items() if name != "$ref"}
            return {**beside, "$ref": numbers[reference]}
        case list():
            return [_numbered(item, numbers) for item in value]
        case dict():
            return {name: _numbered(item, numbers) for name, item in value.items()}
        case _:
            return value


def _component(contract: Json, reference: str) -> Any:
    value: Any = contract
    for name in reference.removeprefix("#/").split("/"):
        value = value[name]
    return value

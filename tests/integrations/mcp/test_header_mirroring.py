from typing import Any

import pytest

from integrations.mcp.header_mirroring import MAX_HEADERS, MAX_STEPS, BadAnnotation, annotated_paths


def annotated(number: int) -> dict[str, Any]:
    return {"type": "string", "x-mcp-header": f"H{number}"}


def many(count: int) -> dict[str, Any]:
    return {"properties": {f"p{number}": annotated(number) for number in range(count)}}


def nested(depth: int) -> dict[str, Any]:
    schema = annotated(0)
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


def test_as_many_headers_and_levels_as_a_request_has_use_for_are_mirrored() -> None:
    assert len(annotated_paths(many(MAX_HEADERS))) == MAX_HEADERS
    assert annotated_paths(nested(MAX_STEPS)) == {"H0": ("a",) * MAX_STEPS}


@pytest.mark.parametrize("schema", [many(MAX_HEADERS + 1), nested(MAX_STEPS + 1)], ids=["headers", "levels"])
def test_a_schema_with_more_is_refused(schema: dict[str, Any]) -> None:
    """Paths of each argument of a deep schema would take a hundred times the memory of the schema."""
    with pytest.raises(BadAnnotation, match="more than"):
        annotated_paths(schema)

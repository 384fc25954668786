"""Errors about arguments name the correct form."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BeforeValidator, Field

from integrations.tool import BEYOND, Params, Result, tool


def squared(value: object) -> object:
    return float(value) ** 2 if isinstance(value, int) else value


class Sorting(Params):
    by: str


class SampleParams(Params):
    page_id: str = Field(min_length=1, max_length=5)
    limit: int = Field(default=10, ge=1, le=100)
    kinds: list[str] = Field(default=[], max_length=2)
    order: Literal["up", "down"] = "up"
    archived: bool = False
    sorting: Sorting | None = None
    area: Annotated[float, BeforeValidator(squared)] = 0.0


class Nothing(Result):
    def text(self) -> str:
        return ""


@tool("Ask")
async def run_tool(api: object, asking: SampleParams) -> Nothing:  # noqa: ARG001
    """Ask."""
    return Nothing()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "`pageId` is required."),
        ({"pageId": ""}, "`pageId`: must not be empty."),
        ({"pageId": "abcdef"}, "`pageId`: must have 5 characters at most."),
        ({"pageId": ["a", "b"]}, "`pageId`: must be a text."),
        ({"pageId": "a", "limit": 0}, "`limit`: must be 1 at least."),
        ({"pageId": "a", "limit": 101}, "`limit`: must be 100 at most."),
        ({"pageId": "a", "limit": "many"}, "`limit`: must be a whole number."),
        ({"pageId": "a", "limit": 1.5}, "`limit`: must be a whole number."),
        ({"pageId": "a", "kinds": "x"}, "`kinds`: must be a list."),
        ({"pageId": "a", "kinds": ["x", "y", "z"]}, "`kinds`: must have 2 entries at most."),
        ({"pageId": "a", "order": "left"}, "`order`: must be one of `up` or `down`."),
        ({"pageId": "a", "archived": "perhaps"}, "`archived`: must be true or false."),
        ({"pageId": "a", "sorting": "name"}, "`sorting`: must be an object."),
        ({"pageId": "a", "sorting": {"by": "x", "way": "up"}}, "There is no `sorting.way`."),
        (
            {"pageId": "a", "query": "x"},
            (
                "There is no parameter `query`; there are `pageId`, `limit`, `kinds`, `order`, `archived`, `sorting`, "
                "`area`."
            ),
        ),
        ({"pageId": "a", "area": 10**400}, BEYOND),
    ],
)
def test_an_error_names_the_correct_form(args: dict[str, Any], text: str) -> None:
    assert run_tool.parse(args) == [text]


def test_several_errors_are_reported_together() -> None:
    assert run_tool.parse({"limit": 0, "order": "left"}) == [
        "`pageId` is required.",
        "`limit`: must be 1 at least.",
        "`order`: must be one of `up` or `down`.",
    ]

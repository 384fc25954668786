"""Coercion of slightly wrong arguments; ambiguous ones stay unchanged."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import Field

from integrations.tool import Params


class Sorting(Params):
    by: str


class SampleParams(Params):
    name: str | None = None
    limit: int = 10
    order: Literal["newest_first", "oldest_first"] | None = None
    labels: list[str] = Field(default=[])
    sorting: Sorting | None = None
    values: dict[str, Any] | None = None
    anything: Any = None
    either: str | list[str] | None = None


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        pytest.param({"name": ["Ada"]}, {"name": "Ada"}, id="a list of one"),
        pytest.param({"limit": ["5"]}, {"limit": 5}, id="a list of a number as text"),
        pytest.param({"order": "Newest-First"}, {"order": "newest_first"}, id="a word in other letters"),
        pytest.param({"order": ["oldestFirst"]}, {"order": "oldest_first"}, id="a list of such a word"),
        pytest.param({"labels": '["Bug", "Web"]'}, {"labels": ["Bug", "Web"]}, id="a list as text"),
        pytest.param({"sorting": '{"by": "name"}'}, {"sorting": Sorting(by="name")}, id="an object as text"),
        pytest.param({"values": ' {"a": 1}'}, {"values": {"a": 1}}, id="values as text"),
        pytest.param({"either": '["a"]'}, {"either": ["a"]}, id="a list as text, where a text is taken too"),
        pytest.param({"name": '["Ada"]'}, {"name": '["Ada"]'}, id="a text that looks like a list"),
        pytest.param(
            {"either": "[a link](https://a.example)"}, {"either": "[a link](https://a.example)"}, id="Markdown"
        ),
        pytest.param({"either": '{"a": 1}'}, {"either": '{"a": 1}'}, id="an object as text, where none is taken"),
        pytest.param({"anything": ["a"]}, {"anything": ["a"]}, id="where anything is taken"),
        pytest.param({"labels": ["a"]}, {"labels": ["a"]}, id="a list of one, where a list is taken"),
    ],
)
def test_slightly_wrong_arguments_are_corrected(arguments: dict[str, Any], meant: dict[str, Any]) -> None:
    result = SampleParams.model_validate(arguments)

    assert {name: getattr(result, name) for name in meant} == meant


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": ["Ada", "Grace"]},
        {"name": [["Ada"]]},
        {"order": "sideways"},
        {"labels": "[1, 2"},
        {"values": "[1]"},
        {"sorting": "[" * 100_000},
    ],
    ids=range(6),
)
def test_ambiguous_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        SampleParams.model_validate(arguments)

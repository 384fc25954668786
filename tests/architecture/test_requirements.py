"""Every requirement is kept by a test, and every test that says it keeps one names one that exists."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture.modules import modules, parsed
from tests.requirements import REQUIREMENTS


def marks(source: str) -> Iterator[str]:
    """The ids in `pytest.mark.requirement("…", …)`, wherever that stands."""
    for node in ast.walk(parsed(source)) if "requirement" in source else ():
        match node:
            case ast.Call(func=ast.Attribute(attr="requirement"), args=ids):
                yield from (id_.value for id_ in ids if isinstance(id_, ast.Constant) and isinstance(id_.value, str))


@cache
def marked() -> dict[str, list[str]]:
    expected: dict[str, list[str]] = {}
    for module in modules("tests"):
        for name in marks(module.source):
            expected.setdefault(name, []).append(module.path)
    return expected


def test_every_requirement_is_kept_by_a_test() -> None:
    missing = REQUIREMENTS.keys() - marked().keys()

    assert not missing, f"no test is marked with {', '.join(sorted(missing))}"


def test_every_mark_names_a_requirement() -> None:
    unknown = {name: files for name, files in marked().items() if name not in REQUIREMENTS}

    assert not unknown, f"tests/requirements.py does not know {unknown}"


def test_every_requirement_has_a_meaning() -> None:
    assert all(meaning.endswith(".") and len(meaning) > 20 for meaning in REQUIREMENTS.values())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@pytest.mark.requirement('A-1')\ndef test_a(): ...", ["A-1"]),
        ("@pytest.mark.requirement('A-1', 'A-2')\nasync def test_a(): ...", ["A-1", "A-2"]),
        ("pytestmark = [pytest.mark.requirement('A-1')]", ["A-1"]),
        ("pytest.param(1, marks=pytest.mark.requirement('A-1'))", ["A-1"]),
        ("# pytest.mark.requirement('A-1')", []),
        ("text = \"pytest.mark.requirement('A-1')\"", []),
    ],
)
def test_every_mark_is_found(source: str, expected: list[str]) -> None:
    assert list(marks(source)) == expected

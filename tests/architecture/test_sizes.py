"""How large are files and functions? These numbers may only go down."""

import ast
from collections.abc import Iterator, Mapping
from statistics import median

import pytest

from tests.architecture.modules import Module, bullet_list, modules

CODE = ("api", "integrations")
FILE_LINES, FUNCTION_LINES, TEST_FILE_LINES = 300, 40, 400
MEDIAN_FUNCTION, P95_FUNCTION = 6, 16
MEDIAN_FILE, P95_FILE = 105, 235  # of 100 before the toolkits came, whose files are texts as much as code
# What is over a limit, with its size: take out what has shrunk, put nothing in.
TOO_LONG_FILES: Mapping[str, int] = {}
TOO_LONG_FUNCTIONS: Mapping[str, int] = {}
TOO_LONG_TESTS: Mapping[str, int] = {}


def lines(module: Module) -> int:
    return len(module.source.splitlines())


def functions(module: Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{module.path}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def percentile(values: list[int], share: float) -> int:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def violations(sizes: Mapping[str, int], limit: int, known: Mapping[str, int]) -> list[str]:
    """What is too long and not known to be, has grown since, or is no longer too long."""
    new = [
        f"{name} has {size} lines, {limit} are the most"
        for name, size in sizes.items()
        if size > known.get(name, limit)
    ]
    old = [f"{name} is listed and need not be" for name in known if sizes.get(name, 0) <= limit]
    return [*new, *old]


def test_no_file_is_too_long() -> None:
    problems = violations({module_.path: lines(module_) for module_ in modules(*CODE)}, FILE_LINES, TOO_LONG_FILES)

    assert not problems, bullet_list(problems)


def test_no_function_is_too_long() -> None:
    sizes = dict(size for module_ in modules(*CODE) for size in functions(module_))

    problems = violations(sizes, FUNCTION_LINES, TOO_LONG_FUNCTIONS)

    assert not problems, bullet_list(problems)


def test_no_file_of_tests_is_too_long() -> None:
    problems = violations(
        {module_.path: lines(module_) for module_ in modules("tests")}, TEST_FILE_LINES, TOO_LONG_TESTS
    )

    assert not problems, bullet_list(problems)


def test_most_functions_are_short() -> None:
    sizes = [size for module_ in modules(*CODE) for _, size in functions(module_)]

    assert median(sizes) <= MEDIAN_FUNCTION
    assert percentile(sizes, 0.95) <= P95_FUNCTION


def test_most_files_are_short() -> None:
    sizes = [lines(module_) for module_ in modules(*CODE)]

    assert median(sizes) <= MEDIAN_FILE
    assert percentile(sizes, 0.95) <= P95_FILE


@pytest.mark.parametrize(
    ("sizes", "known", "complaints"),
    [
        ({"a": 41}, {}, 1),
        ({"a": 40}, {}, 0),
        ({"a": 50}, {"a": 50}, 0),
        ({"a": 51}, {"a": 50}, 1),
        ({"a": 45}, {"a": 50}, 0),
        ({"a": 40}, {"a": 50}, 1),
        ({}, {"a": 50}, 1),
    ],
)
def test_the_list_of_exemptions_can_only_shrink(sizes: dict[str, int], known: dict[str, int], complaints: int) -> None:
    assert len(violations(sizes, 40, known)) == complaints


def test_a_functions_lines_are_counted_from_its_name_to_its_end() -> None:
    source = "class A:\n    async def f(self):\n        def g():\n            return 1\n\n        return g\n"

    assert dict(functions(Module("a", "a.py", source))) == {"a.py:f": 5, "a.py:g": 2}

"""What a reader can count on in every module."""

import ast
import re
from collections.abc import Iterator, Mapping

import pytest

from tests.architecture.modules import Module, bullet_list, modules, parsed

CODE = ("api", "integrations", "bench")
# Where anything at all may be caught, and why.
BROAD: Mapping[str, str] = {
    "api/http/fast_path.py": "where a request ends: whatever went wrong is answered by the one function for that",
}
# Names that say nothing about what is in a file.
EMPTY_NAMES = {"manager", "helper", "helpers", "utils", "util", "common", "base", "misc", "core", "types", "lib"}


def first_line(source: str) -> str:
    return (ast.get_docstring(parsed(source)) or "").partition("\n")[0]


def states_its_purpose(source: str) -> bool:
    return bool(re.fullmatch(r".{15,}[.:]", first_line(source)))


def broad_excepts(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and catches_everything(node.type):
            yield f"{module.path}:{node.lineno}"
        if (
            isinstance(node, ast.Call)
            and "suppress" in ast.unparse(node.func)
            and any(map(catches_everything, node.args))
        ):
            yield f"{module.path}:{node.lineno}"


def catches_everything(kind: ast.expr | None) -> bool:
    match kind:
        case None:
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in ("Exception", "BaseException")
        case ast.Tuple(elts=several):
            return any(map(catches_everything, several))
        case _:
            return False


def test_every_module_states_its_purpose_in_a_sentence() -> None:
    silent = [module_.path for module_ in modules(*CODE) if not states_its_purpose(module_.source)]

    assert not silent, bullet_list(silent)


def test_no_two_modules_have_the_same_docstring() -> None:
    text = [first_line(module_.source) for module_ in modules(*CODE)]

    assert len(set(text)) == len(text)


def test_every_broad_except_has_a_reason() -> None:
    results = [place for module_ in modules(*CODE) for place in broad_excepts(module_) if module_.path not in BROAD]

    assert not results, bullet_list(results)


def test_no_file_has_a_meaningless_name() -> None:
    empty = [module_.path for module_ in modules(*CODE) if EMPTY_NAMES & set(re.split(r"[./_]", module_.name))]

    assert not empty, bullet_list(empty)


def test_no_two_files_of_tests_have_the_same_name() -> None:
    names = [module_.path.rpartition("/")[2] for module_ in modules("tests") if "/test_" in module_.path]
    doubles = {name for name in names if names.count(name) > 1}

    assert not doubles, bullet_list(doubles)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "x = 1",
        '"""Short."""',
        '"""Something without an end"""',
        '"""Which purpose has this?"""',
        "# What this is for.",
    ],
)
def test_a_module_without_a_purpose_is_detected(source: str) -> None:
    assert not states_its_purpose(source)


@pytest.mark.parametrize(
    "handler",
    [
        "except:",
        "except Exception:",
        "except BaseException:",
        "except Exception as error:",
        "except (ValueError, Exception):",
        "except builtins.Exception:",
        "except* Exception:",
    ],
)
def test_a_broad_except_is_detected(handler: str) -> None:
    source = f"try:\n    pass\n{handler}\n    pass\n"

    assert list(broad_excepts(Module("a", "a.py", source))) == ["a.py:3"]


def test_a_broad_suppress_is_detected() -> None:
    assert list(broad_excepts(Module("a", "a.py", "with contextlib.suppress(Exception):\n    pass\n")))


@pytest.mark.parametrize("handler", ["except ValueError:", "except (ValueError, OSError):", "except errors.NotFound:"])
def test_an_except_with_a_specific_class_is_accepted(handler: str) -> None:
    assert not list(broad_excepts(Module("a", "a.py", f"try:\n    pass\n{handler}\n    pass\n")))

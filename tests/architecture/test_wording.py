"""The plain English of the code: words that have a better, technical name are refused."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.architecture.modules import Module, bullet_list, modules

CODE = ("api", "integrations", "bench")
WORDS = re.compile(r"\b(?:told|nobody|somebody|whoever)\b", re.IGNORECASE)
# Names of variables, parameters and functions for which the domain has a noun or a verb.
NAMES = frozenset({"told", "said"})


def vague_words(module: Module) -> Iterator[str]:
    """The words in comments and in texts of more than one word; a single word may be a value."""
    for token in tokenize.generate_tokens(io.StringIO(module.source).readline):
        is_prose = token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string)
        if is_prose:
            yield from (f"{module.path}:{token.start[0]} {word}" for word in WORDS.findall(token.string))


def vague_names(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                if name.strip("_").lower() in NAMES:
                    yield f"{module.path}:{node.lineno} {name}"
            case _:
                pass


def test_prose_uses_the_nouns_of_the_domain() -> None:
    words = [word for module in modules(*CODE) for word in vague_words(module)]

    assert not words, bullet_list(words)


def test_names_say_what_they_hold() -> None:
    names = [name for module in modules(*CODE) for name in vague_names(module)]

    assert not names, bullet_list(names)


@pytest.mark.parametrize(
    "source",
    ["# The caller is told.", '"""Nobody calls it."""', 'text = f"{name} knows somebody"', "x = 'whoever asks'"],
)
def test_a_vague_word_is_detected(source: str) -> None:
    assert list(vague_words(Module("a", "a.py", source)))


@pytest.mark.parametrize("source", ["told = 1", "def said(): ...", "def f(told): ...", "for _told in (): ..."])
def test_a_vague_name_is_detected(source: str) -> None:
    assert list(vague_names(Module("a", "a.py", source)))


@pytest.mark.parametrize("source", ["VALUES = {'nobody'}", "# It is stated.", "text = error.said", "untold = 1"])
def test_values_and_attributes_are_accepted(source: str) -> None:
    module = Module("a", "a.py", source)

    assert not [*vague_words(module), *vague_names(module)]

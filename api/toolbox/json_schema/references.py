"""References within a schema, and what they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

_LONGEST_REFERENCE = 1000
_WORDS = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")


def resolve_pointer(root: Mapping[str, Any], reference: object) -> Any | None:
    """The target of a reference within the document. None for one to another document, to nothing, or to an anchor."""
    if (
        not isinstance(reference, str)
        or not (reference == "#" or reference.startswith("#/"))
        or len(reference) > _LONGEST_REFERENCE
    ):
        return None
    target: Any = root
    for part in reference.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and name in target:
            target = target[name]
        elif isinstance(target, list) and name.isdecimal() and int(name) < len(target):
            target = target[int(name)]
        else:
            return None
    return target


class ReferenceUnresolved(Exception):
    """A reference may lead anywhere, so what it costs cannot be counted."""


class References:
    """Resolves the references of one schema as the validator does, if they stay in the document."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._anchors: dict[str, Any] | None = None

    def targets(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for word in _WORDS:
            if word in schema:
                yield self._resolve(schema[word])

    def _resolve(self, reference: object) -> Any:
        if not isinstance(reference, str):
            raise ReferenceUnresolved
        target = resolve_pointer(self._root, reference if "%" not in reference else unquote(reference))
        if target is None:
            target = self._named.get(reference)
        if target is None:
            raise ReferenceUnresolved
        return target

    @property
    def _named(self) -> Mapping[str, Any]:
        if self._anchors is None:
            self._anchors = _anchors(self._root)
        return self._anchors


def _anchors(root: Mapping[str, Any]) -> dict[str, Any]:
    """By `#name`. A name that stands twice is left out, since either may be meant."""
    named: dict[str, Any] = {}
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for name in {value.get(word) for word in _ANCHORS if isinstance(value.get(word), str)}:
                named[f"#{name}"] = None if f"#{name}" in named else value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return named


def has_other_bases(root: Mapping[str, Any]) -> bool:
    """Whether a schema within the schema has an id, which changes where references within it lead."""
    word = "id" if "draft-04" in str(root.get("$schema")) else "$id"
    waiting: list[Any] = list(root.values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get(word), str):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False

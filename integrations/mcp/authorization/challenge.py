"""Lenient parsing of the `WWW-Authenticate` header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from integrations.mcp.authorization.scopes import scopes_in

MAX_LENGTH = 16_384
MAX_URL_LENGTH = 2048

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_SEPARATORS = re.compile(r"[\s,]++")
_PARAMETER = re.compile(rf'({_NAME})[ \t]*+=[ \t]*+(?:"((?:[^"\\]|\\.)*+)"?|([^\s,"]*+))', re.DOTALL)
_SINGLE = re.compile(r"[ \t]*+[0-9A-Za-z._~+/-]++=*+[ \t]*+(?=,|$)")
_SCHEME = re.compile(rf"({_NAME})(?=[\s,]|$)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORD = re.compile(r"[a-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True)
class Challenge:
    """The parameters of a challenge, as the server claims them. `scopes` is None if it names none."""

    resource_metadata: str | None = None
    scopes: tuple[str, ...] | None = None
    error: str | None = None


def challenge_of(headers: Sequence[str] | str | None) -> Challenge:
    """The parameters of the Bearer challenge, with the first value of each name. Never fails."""
    lines = [headers] if isinstance(headers, str) else headers or ()
    parameters: dict[str, str] = {}
    for line in lines:
        for scheme, name, value in _parameters(line[:MAX_LENGTH]):
            if scheme == "bearer":
                parameters.setdefault(name, value)
    return _challenge(parameters)


def _challenge(parameters: Mapping[str, str]) -> Challenge:
    url, error = parameters.get("resource_metadata", ""), parameters.get("error", "").lower()
    return Challenge(
        resource_metadata=url if 0 < len(url) <= MAX_URL_LENGTH else None,
        scopes=scopes_in(parameters.get("scope", "")) or None,
        error=error if _WORD.fullmatch(error) else None,
    )


def _parameters(line: str) -> Iterator[tuple[str, str, str]]:
    """The scheme, name and value of each parameter. Other parts of the line are skipped."""
    position, scheme = 0, ""
    while position < len(line):
        if separator := _SEPARATORS.match(line, position):
            position = separator.end()
        elif parameter := _PARAMETER.match(line, position):
            yield scheme, parameter[1].lower(), _value(parameter)
            position = parameter.end()
        elif scheme_match := _SCHEME.match(line, position):
            scheme = scheme_match[1].lower()
            single = _SINGLE.match(line, scheme_match.end())
            position = single.end() if single else scheme_match.end()
        else:
            following = _SEPARATORS.search(line, position)
            position = following.start() if following else len(line)


def _value(parameter: re.Match[str]) -> str:
    return parameter[3] if parameter[2] is None else _ESCAPED.sub(r"\1", parameter[2])

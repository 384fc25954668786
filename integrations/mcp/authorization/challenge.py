"""Parses `WWW-Authenticate` leniently."""

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
    """`scopes` is None where none are named. All of it is the server's claim."""

    resource_metadata: str | None = None
    scopes: tuple[str, ...] | None = None
    error: str | None = None


def challenge_of(headers: Sequence[str] | str | None) -> Challenge:
    """The parameters of the Bearer challenge; the first value of each name holds. Never fails."""
    lines = [headers] if isinstance(headers, str) else headers or ()
    said: dict[str, str] = {}
    for line in lines:
        for scheme, name, value in _parameters(line[:MAX_LENGTH]):
            if scheme == "bearer":
                said.setdefault(name, value)
    return _challenge(said)


def _challenge(said: Mapping[str, str]) -> Challenge:
    url, error = said.get("resource_metadata", ""), said.get("error", "").lower()
    return Challenge(
        resource_metadata=url if 0 < len(url) <= MAX_URL_LENGTH else None,
        scopes=scopes_in(said.get("scope", "")) or None,
        error=error if _WORD.fullmatch(error) else None,
    )


def _parameters(line: str) -> Iterator[tuple[str, str, str]]:
    """Scheme, name and value of each parameter. Anything else is skipped."""
    place, scheme = 0, ""
    while place < len(line):
        if between := _SEPARATORS.match(line, place):
            place = between.end()
        elif parameter := _PARAMETER.match(line, place):
            yield scheme, parameter[1].lower(), _value(parameter)
            place = parameter.end()
        elif named := _SCHEME.match(line, place):
            scheme = named[1].lower()
            single = _SINGLE.match(line, named.end())
            place = single.end() if single else named.end()
        else:
            following = _SEPARATORS.search(line, place)
            place = following.start() if following else len(line)


def _value(parameter: re.Match[str]) -> str:
    return parameter[3] if parameter[2] is None else _ESCAPED.sub(r"\1", parameter[2])

"""Placeholders for what differs in each run: ids, keys, ports and random texts, numbered by first appearance."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any

ID = "0-9a-hjkmnp-tv-z"
VENDORS = (
    *(r"[a-z]+-(?:access|refresh)-[\w-]{43}", r"code-[\w-]{32}", r"CJ[\w-]{160,540}", r"na1-[0-9a-f-]{36}"),
    *(r"lin_(?:oauth|refresh)_[0-9a-f]{64}", r"n(?:tn|rt)_[\w-]{43}", r"xox[be](?:\.xoxb)?(?:-1)?-[\w-]{43,64}"),
)
"""Codes and tokens of the fake providers."""
KINDS = {
    "api_key": rf"pb_[{ID}]{{20}}_[0-9A-Za-z]+",
    "api_key_prefix": rf"pb_[{ID}]{{20}}(?!_)",
    "workspace": rf"ws_[{ID}]{{20}}",
    "server": rf"server_[{ID}]{{33}}",
    "agent": rf"agent_[{ID}]{{33}}",
    "key": rf"key_[{ID}]{{20}}",
    "call_record": rf"audit_[{ID}]{{20,}}_[0-9]{{2}}",
    "audit": rf"audit_[{ID}]{{20,}}",
    "token": "|".join(VENDORS),
    "client": r"registered-[0-9a-f]{16}",
    "client_secret": r"(?<=:)[\w-]{32}(?=\]$)",
    "cursor": r"(?<=cursor=)[\w-]{30,}",
    "secret": r"(?<![\w-])(?:[\w-]{43}|[\w-]{64})(?![\w-])",
    "request_id": r"(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])",
    "digest": r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])",
    "port": r"(?<=127\.0\.0\.1:)(?!8400)[0-9]{4,5}|(?<=127\.0\.0\.1%3A)(?!8400)[0-9]{4,5}",
}
VARIABLE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items()))
LONGEST = 1000


class Placeholders:
    """The same text has the same placeholder throughout a run."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._count: Counter[str] = Counter()

    def define(self, text: str, placeholder: str) -> None:
        """A placeholder whose number comes from elsewhere."""
        self._known.setdefault(text, placeholder)

    def replace(self, value: Any) -> Any:
        """In all texts of a JSON value, names included."""
        match value:
            case str():
                return _shortened(VARIABLE.sub(self._placeholder, value))
            case list():
                return [self.replace(item) for item in value]
            case dict():
                return {self.replace(name): self.replace(item) for name, item in value.items()}
            case _:
                return value

    def _placeholder(self, match: re.Match[str]) -> str:
        if match[0] not in self._known:
            kind = str(match.lastgroup)
            self._count[kind] += 1
            self._known[match[0]] = f"<{kind} {self._count[kind]}>"
        return self._known[match[0]]


def masked(text: str) -> str:
    """The same for all texts that differ only in what has a placeholder."""
    return VARIABLE.sub("<>", text)


def _shortened(text: str) -> str:
    """A long text is compared by its digest."""
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:200]} <{len(text)} characters, SHA-256 {digest}>"

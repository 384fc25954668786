"""What does Slack take as a call of a method: which arguments, in which form, and how are they answered?"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from demo.oauth_provider.http import Answer, Request, said

Json = dict[str, Any]
MOST_OF_A_PAGE = 999


class Refused(Exception):
    def __init__(self, error: str, **more: object) -> None:
        super().__init__(error)
        self.said = {"ok": False, "error": error, **more}


@dataclass(frozen=True)
class Method:
    work: Callable[[Json], Json]
    takes: Mapping[str, Callable[[Any], Any]]
    writes: bool = False

    def arguments(self, request: Request) -> Json:
        """As Slack reads them, but for names that it does not know: those it would pass over in silence."""
        given = dict(request.query) if request.method == "GET" else self._of_body(request)
        if unknown := given.keys() - self.takes.keys():
            raise Refused("invalid_arg_name", response_metadata={"messages": [f"[ERROR] no such argument: {unknown}"]})
        return {name: self.takes[name](value) for name, value in given.items()}

    def _of_body(self, request: Request) -> Json:
        """JSON is read by methods that write, and by no other."""
        if request.query:
            raise Refused("invalid_arguments")
        if request.kind == "application/json" and not self.writes:
            raise Refused("invalid_form_data")
        if request.kind not in ("application/json", "application/x-www-form-urlencoded"):
            raise Refused("invalid_post_type")
        if request.kind == "application/json":
            return _json(request)
        return request.fields


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refused("invalid_arguments")
    return value


def flag(value: Any) -> bool:
    if value not in (True, False, "true", "false", "1", "0"):
        raise Refused("invalid_arguments")
    return value in (True, "true", "1")


def limit(value: Any) -> int:
    if not str(value).isdecimal() or not 1 <= int(value) <= MOST_OF_A_PAGE:
        raise Refused("invalid_limit")
    return int(value)


def types(value: Any) -> frozenset[str]:
    """With a space behind a comma there is no such type."""
    found = frozenset(text(value).split(","))
    if not found <= {"public_channel", "private_channel", "mpim", "im"}:
        raise Refused("invalid_types")
    return found


def stamp(error: str) -> Callable[[Any], str]:
    def checked(value: Any) -> str:
        seconds, point, rest = (value if isinstance(value, str) else "").partition(".")
        if not (point and seconds.isdecimal() and rest.isdecimal() and len(seconds) == 10 and len(rest) == 6):
            raise Refused(error)
        return str(value)

    return checked


def cursor_of(place: int) -> str:
    return base64.b64encode(f"next:{place}".encode()).decode()


def cursor(value: Any) -> int:
    try:
        word, _, place = base64.b64decode(text(value), validate=True).decode().partition(":")
        return int(place) if word == "next" else _bad_cursor()
    except ValueError:
        return _bad_cursor()


def page_of(found: list[Json], asked: Json, usual: int) -> tuple[list[Json], str]:
    """And the cursor of the next, empty at the end."""
    begin = asked.get("cursor", 0)
    end = begin + asked.get("limit", usual)
    return found[begin:end], cursor_of(end) if end < len(found) else ""


def busy(seconds: int) -> Answer:
    return said({"ok": False, "error": "ratelimited"}, 429, Retry_After=str(seconds))


def _bad_cursor() -> int:
    raise Refused("invalid_cursor")


def _json(request: Request) -> Json:
    try:
        found = json.loads(request.body)
    except ValueError:
        raise Refused("invalid_json") from None
    if not isinstance(found, dict):
        raise Refused("json_not_object")
    return found

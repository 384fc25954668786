"""Arguments of Slack's methods: parsing, validation and error responses."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from demo.oauth_provider.http import Request, Response, json_response

Json = dict[str, Any]
MOST_OF_A_PAGE = 999


class SlackError(Exception):
    def __init__(self, error: str, **more: object) -> None:
        super().__init__(error)
        self.body = {"ok": False, "error": error, **more}


@dataclass(frozen=True)
class Method:
    run: Callable[[Json], Json]
    parameters: Mapping[str, Callable[[Any], Any]]
    writes: bool = False

    def arguments(self, request: Request) -> Json:
        """Parses arguments as Slack does. Unlike Slack, it refuses unknown names instead of ignoring them."""
        values = dict(request.query) if request.method == "GET" else self._body_arguments(request)
        if unknown := values.keys() - self.parameters.keys():
            raise SlackError(
                "invalid_arg_name", response_metadata={"messages": [f"[ERROR] no such argument: {unknown}"]}
            )
        return {name: self.parameters[name](value) for name, value in values.items()}

    def _body_arguments(self, request: Request) -> Json:
        """Only methods that write accept JSON."""
        if request.query:
            raise SlackError("invalid_arguments")
        if request.media_type == "application/json" and not self.writes:
            raise SlackError("invalid_form_data")
        if request.media_type not in ("application/json", "application/x-www-form-urlencoded"):
            raise SlackError("invalid_post_type")
        if request.media_type == "application/json":
            return _json(request)
        return request.fields


def parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise SlackError("invalid_arguments")
    return value


def parse_flag(value: Any) -> bool:
    if value not in (True, False, "true", "false", "1", "0"):
        raise SlackError("invalid_arguments")
    return value in (True, "true", "1")


def parse_limit(value: Any) -> int:
    if not str(value).isdecimal() or not 1 <= int(value) <= MOST_OF_A_PAGE:
        raise SlackError("invalid_limit")
    return int(value)


def parse_types(value: Any) -> frozenset[str]:
    """Parses channel types; a space after a comma makes a type invalid."""
    result = frozenset(parse_text(value).split(","))
    if not result <= {"public_channel", "private_channel", "mpim", "im"}:
        raise SlackError("invalid_types")
    return result


def timestamp_parser(error: str) -> Callable[[Any], str]:
    def checked(value: Any) -> str:
        seconds, point, rest = (value if isinstance(value, str) else "").partition(".")
        if not (point and seconds.isdecimal() and rest.isdecimal() and len(seconds) == 10 and len(rest) == 6):
            raise SlackError(error)
        return str(value)

    return checked


def cursor_of(place: int) -> str:
    return base64.b64encode(f"next:{place}".encode()).decode()


def parse_cursor(value: Any) -> int:
    try:
        word, _, place = base64.b64decode(parse_text(value), validate=True).decode().partition(":")
        return int(place) if word == "next" else _bad_cursor()
    except ValueError:
        return _bad_cursor()


def slice_page(objects: list[Json], arguments: Json, usual: int) -> tuple[list[Json], str]:
    """The page and the cursor of the next page, which is empty at the end."""
    begin = arguments.get("cursor", 0)
    end = begin + arguments.get("limit", usual)
    return objects[begin:end], cursor_of(end) if end < len(objects) else ""


def rate_limited(seconds: int) -> Response:
    return json_response({"ok": False, "error": "ratelimited"}, 429, Retry_After=str(seconds))


def _bad_cursor() -> int:
    raise SlackError("invalid_cursor")


def _json(request: Request) -> Json:
    try:
        body = json.loads(request.body)
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(body, dict):
        raise SlackError("json_not_object")
    return body

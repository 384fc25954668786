"""Query parameters of a route, and their values in a request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from api.errors import ValidationFailed
from api.http.field_messages import choice_message
from api.http.operations import Parameter
from api.http.request import AnyRequest
from api.kit.ids import id_pattern

LONGEST_TEXT = 200


def text_parameter(name: str, description: str) -> Parameter:
    return Parameter(name, description, {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT})


def id_parameter(name: str, description: str, of: str) -> Parameter:
    return Parameter(name, description, {"type": "string", "pattern": id_pattern(of)})


def choice_parameter(name: str, description: str, choices: Iterable[str]) -> Parameter:
    return Parameter(name, description, {"type": "string", "enum": [str(choice) for choice in choices]})


def query_text(request: AnyRequest, name: str) -> str | None:
    text = request.query_params.get(name)
    if text is not None and not 1 <= len(text) <= LONGEST_TEXT:
        raise ValidationFailed.at(name, f"Must be 1 to {LONGEST_TEXT} characters.")
    return text


def query_id(request: AnyRequest, name: str, of: str) -> str | None:
    """The id of an object of this kind, which need not exist."""
    text = query_text(request, name)
    if text is not None and not re.fullmatch(id_pattern(of), text):
        article = "an" if of[0] in "aeiou" else "a"
        raise ValidationFailed.at(name, f"Must be {article} {of}'s id, of the form `{of}_…`, not its name or slug.")
    return text


def query_choice(request: AnyRequest, name: str, choices: Collection[str]) -> str | None:
    choice = request.query_params.get(name)
    if choice is not None and choice not in choices:
        raise ValidationFailed.at(name, choice_message(choice, choices))
    return choice


def query_time(request: AnyRequest, name: str) -> float | None:
    """In seconds since 1970."""
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return max(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp(), 0.0)
    except (ValueError, OverflowError):
        raise ValidationFailed.at(name, "Must be a time such as 2027-01-01T00:00:00Z.") from None


ORDER = choice_parameter("order", "`oldest` (default) or `newest`: which come first.", ("oldest", "newest"))


def is_newest_first(request: AnyRequest) -> bool:
    return query_choice(request, ORDER.name, ("oldest", "newest")) == "newest"

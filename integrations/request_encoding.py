"""Encodes requests to an API and decodes its responses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

_ADDRESS = re.compile(r"[!-~]{1,2048}")
"""What can be sent: no connection is made for anything else."""

NO_ADDRESS = "The arguments are too long, or contain characters that a URL cannot contain. Shorten them."
NOT_JSON = "An argument cannot be written as JSON."

Content = tuple[bytes, dict[str, str]]


class UnencodableRequest(Exception):
    """The request cannot be put in words; the text says why."""


def encode_url(base_url: str, path: str, query: Mapping[str, object] | None) -> str:
    given = _given(query or {})
    try:
        url = f"{base_url}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")
    except UnicodeEncodeError as error:  # half a character
        raise UnencodableRequest(NO_ADDRESS) from error
    if not _ADDRESS.fullmatch(url):
        raise UnencodableRequest(NO_ADDRESS)
    return url


def encode_body(body: object, form: Mapping[str, object] | None) -> Content:
    try:
        return _content(body, form)
    except (ValueError, RecursionError) as error:  # half a character, a number beyond all numbers, a list of lists of …
        raise UnencodableRequest(NOT_JSON) from error


def decode_json(body: bytes) -> Any:
    """What its JSON says; None where there is none."""
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None


def _content(body: object, form: Mapping[str, object] | None) -> Content:
    if form is not None:
        return urlencode(_given(form), doseq=True).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    if body is not None:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        return text.encode(), {"Content-Type": "application/json"}
    return b"", {}


def _given(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: _written(value) for name, value in fields.items() if value is not None}


def _written(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return list(value) if isinstance(value, tuple) else value

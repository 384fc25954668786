"""Encoding of requests to an API and decoding of its responses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

_URL = re.compile(r"[!-~]{1,2048}")
"""The URLs that can be sent; no connection is opened for others."""

BAD_URL = "The arguments are too long, or contain characters that a URL cannot contain. Shorten them."
NOT_JSON = "An argument cannot be written as JSON."

Content = tuple[bytes, dict[str, str]]


class UnencodableRequest(Exception):
    """The arguments cannot be encoded; the text states the reason."""


def encode_url(base_url: str, path: str, query: Mapping[str, object] | None) -> str:
    fields = _encode_fields(query or {})
    try:
        url = f"{base_url}{path}" + (f"?{urlencode(fields, doseq=True)}" if fields else "")
    except UnicodeEncodeError as error:  # a lone surrogate
        raise UnencodableRequest(BAD_URL) from error
    if not _URL.fullmatch(url):
        raise UnencodableRequest(BAD_URL)
    return url


def encode_body(body: object, form: Mapping[str, object] | None) -> Content:
    try:
        return _encode_content(body, form)
    except (ValueError, RecursionError) as error:  # a lone surrogate, an infinite number, deep nesting
        raise UnencodableRequest(NOT_JSON) from error


def decode_json(body: bytes) -> Any:
    """The decoded JSON, or None if the body is not JSON."""
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None


def _encode_content(body: object, form: Mapping[str, object] | None) -> Content:
    if form is not None:
        return urlencode(_encode_fields(form), doseq=True).encode(), {
            "Content-Type": "application/x-www-form-urlencoded"
        }
    if body is not None:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
        return text.encode(), {"Content-Type": "application/json"}
    return b"", {}


def _encode_fields(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: _encode_value(value) for name, value in fields.items() if value is not None}


def _encode_value(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return list(value) if isinstance(value, tuple) else value

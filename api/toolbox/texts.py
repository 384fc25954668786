"""What is an agent told, word for word, when a call comes to nothing?"""

from __future__ import annotations

import json
from http import HTTPStatus

from api.toolbox.json_schema.cost import JsonSize, measure
from api.toolbox.output.redaction import NO_SECRETS, Redactor
from api.toolbox.output.sanitize import clean, one_line

MAX_ERROR = 1000
_DATA = JsonSize(32, 1000)
_LOOKED_AT = 20
"""Times as many characters as are shown: to clean takes time."""
_FAILED = "Error calling MCP server: "


def generic_description(server_name: str) -> str:
    return f"Call the MCP server '{one_line(server_name, 100)}'. Provide the MCP method name and optional parameters."


def upstream_error(message: str, data: object = None, redact: Redactor = NO_SECRETS) -> str:
    """A JSON-RPC error: its message and, where there is any, its data."""
    told = message if _is_nothing(data) else f"{message} - {_plain(data)}"
    return safe_line(_FAILED + told, redact)


def request_failed(status: int, reason: str = "", redact: Redactor = NO_SECRETS) -> str:
    """An answer that is no success. HTTP/2 sends no reason, so the usual one stands in."""
    told = f"{status} {reason or _usual_reason(status)}".rstrip()
    return safe_line(f"{_FAILED}MCP server request failed: {told}", redact)


def not_answered(why: str, redact: Redactor = NO_SECRETS) -> str:
    """No answer at all, or none that is MCP."""
    return safe_line(_FAILED + why, redact)


def server_not_found(server_id: str) -> str:
    return safe_line(f"Error: MCP server {server_id} not found")


def server_of_another_workspace(server_id: str) -> str:
    return safe_line(f"Error: MCP server {server_id} does not belong to this workspace")


def safe_line(text: str, redact: Redactor = NO_SECRETS, limit: int = MAX_ERROR) -> str:
    """One line, capped. Scrubbed before the cut, which could leave half of a secret, and on both sides of the cleaning:
    a secret may hold what is cleaned away, and what is cleaned away may have been hiding one.
    """
    looked_at = text[: _LOOKED_AT * limit + redact.longest]  # a secret that is cut in two lies behind what is shown
    return one_line(redact(clean(redact(looked_at)[: _LOOKED_AT * limit])), limit)


def _is_nothing(data: object) -> bool:
    return data is None or data in ("", [], {})


def _plain(data: object) -> str:
    if isinstance(data, str):
        return data
    if measure(data, _DATA) is None:
        return "(too much to be shown)"
    return json.dumps(_cleaned(data), ensure_ascii=False, default=str)


def _cleaned(data: object) -> object:
    """Cleaned before it is JSON, in which a control is an escape that hides it, and a secret around it."""
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, list):
        return [_cleaned(each) for each in data]
    return {clean(str(name)): _cleaned(each) for name, each in data.items()} if isinstance(data, dict) else data


def _usual_reason(status: int) -> str:
    return next((known.phrase for known in HTTPStatus if known == status), "")

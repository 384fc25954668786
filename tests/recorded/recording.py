"""The recorded responses as files: JSON for people to read, in which what nearly all responses have is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.recorded.prose import TEXT

FOLDER = Path(__file__).parent / "responses"
CHECKSUMS = Path(__file__).parent / "SHA256SUMS"
WIDTH = 140
Json = dict[str, Any]
USUAL = {
    "cache-control": "no-store",
    "content-length": "<length>",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "content-type": "application/json",
    "date": "<date>",
    "referrer-policy": "no-referrer",
    "server": "uvicorn",
    "x-content-type-options": "nosniff",
}
"""Headers of responses that are written down only where they are other or missing (null). So is the request's id."""


def read(name: str) -> Json:
    return unfolded(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def write(name: str, run: Json, folder: Path = FOLDER, checksums: Path = CHECKSUMS) -> None:
    """An existing recording is never overwritten."""
    text = f"{pretty(folded(run))}\n".encode()
    with (folder / f"{name}.json").open("xb") as file:
        file.write(text)
    with checksums.open("a", encoding="utf-8") as lines:
        lines.write(f"{sha256(text).hexdigest()}  responses/{name}.json\n")


def folded(run: Json) -> Json:
    """Headers of requests to upstreams are numbered, as many requests have the same."""
    numbers: dict[str, int] = {}

    def number(sent: Json) -> Json:
        return {**sent, "headers": numbers.setdefault(json.dumps(sent["headers"], sort_keys=True), len(numbers) + 1)}

    responses = [_folded(_each_upstream(number, entry), usual) for entry, usual in _with_usual(run["responses"])]
    background = [number(sent) for sent in run["background"]]
    headers = {str(value): json.loads(text) for text, value in numbers.items()}
    return {"responses": responses, "background": background, "upstream headers": headers}


def unfolded(recorded: Json) -> Json:
    def headers(sent: Json) -> Json:
        return {**sent, "headers": recorded["upstream headers"][str(sent["headers"])]}

    responses = [
        _unfolded(_each_upstream(headers, entry), usual) for entry, usual in _with_usual(recorded["responses"])
    ]
    return {"responses": responses, "background": [headers(sent) for sent in recorded["background"]]}


def _with_usual(entries: list[Json]) -> list[tuple[Json, Json]]:
    """Each with its usual headers."""
    return [(entry, {**USUAL, "x-request-id": f"<request id {number}>"}) for number, entry in enumerate(entries, 1)]


def _each_upstream(change: Callable[[Json], Json], entry: Json) -> Json:
    return {**entry, "upstream": [change(sent) for sent in entry["upstream"]]} if "upstream" in entry else entry


def _folded(entry: Json, usual: Json) -> Json:
    kept, body = dict(entry), entry["body"]
    usual = _usual_of(body, usual)
    if _is_problem(body) and body == _problem(body["code"], entry["status"], body.get("errors")):
        kept["problem"] = [body["code"], *(error["path"] for error in body.get("errors", ()))]
        del kept["body"]
    missing = {name: None for name in usual if name not in entry["headers"]}
    headers = missing | {name: text for name, text in entry["headers"].items() if usual.get(name) != text}
    return {**kept, "headers": headers} if headers else {name: kept[name] for name in kept if name != "headers"}


def _unfolded(entry: Json, usual: Json) -> Json:
    shown = dict(entry)
    if "problem" in entry:
        code, *paths = shown.pop("problem")
        errors = [{"path": path, "message": TEXT} for path in paths]
        shown["body"] = _problem(code, entry["status"], errors)
    headers = {**_usual_of(shown["body"], usual), **entry.get("headers", {})}
    return {**shown, "headers": {name: text for name, text in headers.items() if text is not None}}


def _is_problem(body: Any) -> bool:
    return isinstance(body, dict) and "code" in body


def _usual_of(body: Any, usual: Json) -> Json:
    return {**usual, "content-type": "application/problem+json"} if _is_problem(body) else usual


def _problem(code: str, status: int, errors: list[Json] | None) -> Json:
    known = {"type": f"urn:plugboard:problem:{code}", "title": TEXT, "status": status, "code": code, "detail": TEXT}
    return known | ({"errors": errors} if errors else {})


def pretty(value: Any, indent: str = "") -> str:
    """On one line what fits there, names in order."""
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(indent) + len(line) <= WIDTH or not isinstance(value, list | dict) or not value:
        return line
    deeper = f"{indent} "
    if isinstance(value, list):
        items = [pretty(item, deeper) for item in value]
        lines = _packed(items) if all(isinstance(item, str) for item in value) else items
        return f"[\n{_lines([f'{deeper}{line}' for line in lines])}\n{indent}]"
    parts = [f"{deeper}{json.dumps(name, ensure_ascii=False)}: {pretty(value[name], deeper)}" for name in sorted(value)]
    return f"{{\n{_lines(parts)}\n{indent}}}"


def _packed(items: list[str]) -> list[str]:
    """As many of them on a line as fit there."""
    lines = items[:1]
    for item in items[1:]:
        joined = f"{lines[-1]}, {item}"
        lines[-1:] = [joined] if len(joined) <= WIDTH else [lines[-1], item]
    return lines


def _lines(parts: list[str]) -> str:
    return ",\n".join(parts)

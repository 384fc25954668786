"""The OpenAPI document as an HTML page, without scripts and external resources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8884; border-radius: .4rem; }
details { border: 1px solid #8884; border-radius: .4rem; margin: .5rem 0; padding: .5rem .75rem; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; text-transform: uppercase; }
.path { font-family: ui-monospace, monospace; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; }
"""


def docs_page(document: Mapping[str, Any]) -> bytes:
    body = "".join(_section(tag["name"], document) for tag in document["tags"])
    intro = "".join(f"<p>{_text(paragraph)}</p>" for paragraph in document["info"]["description"].split("\n\n"))
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Plugboard API</title>'
        f"<style>{STYLE}</style></head><body><h1>Plugboard API</h1>{intro}"
        f'<p>For programs: <a href="/openapi.yaml">openapi.yaml</a>.</p>{body}</body></html>'
    )
    return page.encode()


def _section(tag: str, document: Mapping[str, Any]) -> str:
    operations = [
        _operation(path, method, operation, document["components"]["responses"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    ]
    return f"<section><h2>{escape(tag)}</h2>{''.join(operations)}</section>"


def _operation(path: str, method: str, operation: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    head = (
        f'<span class="method">{method}</span> <span class="path">{escape(path)}</span> — '
        f"{escape(operation['summary'])}"
    )
    sections = [
        *(f"<p>{_text(paragraph)}</p>" for paragraph in operation["description"].split("\n\n")),
        _parameters(operation.get("parameters", ())),
        _examples("Body", operation.get("requestBody", {}).get("content", {})),
        *(_response(status, _resolve(response, shared)) for status, response in operation["responses"].items()),
    ]
    return f'<details id="{escape(operation["operationId"])}"><summary>{head}</summary>{"".join(sections)}</details>'


def _parameters(parameters: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        f"<dt><code>{escape(parameter['name'])}</code> ({escape(parameter['in'])})</dt>"
        f"<dd>{_text(parameter.get('description', ''))} <code>{escape(json.dumps(parameter['schema']))}</code></dd>"
        for parameter in parameters
    ]
    return f"<h3>Parameters</h3><dl>{''.join(rows)}</dl>" if rows else ""


def _resolve(response: Mapping[str, Any], shared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Shared responses are references to one definition."""
    target: Mapping[str, Any] = shared[response["$ref"].rpartition("/")[2]] if "$ref" in response else response
    return target


def _response(status: str, response: Mapping[str, Any]) -> str:
    heading = f"<h3>{escape(status)}</h3><p>{_text(response['description'])}</p>"
    return heading + (_examples("", response.get("content", {})) if status.startswith("2") else "")


def _examples(title: str, content: Mapping[str, Any]) -> str:
    blocks = [
        f"<pre>{escape(json.dumps(media['example'], indent=2, ensure_ascii=False))}</pre>"
        for media in content.values()
        if "example" in media
    ]
    return (f"<h3>{title}</h3>" if title and blocks else "") + "".join(blocks)


def _text(text: str) -> str:
    """Escaped text, with backticks as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if position % 2 else piece for position, piece in enumerate(pieces))

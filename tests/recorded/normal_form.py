"""The normal form of a response: what is equal in every version. Prose and what differs in each run are left out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from tests.recorded.accepted_differences import NEW_METRICS
from tests.recorded.contract_form import normal_contract
from tests.recorded.prose import TEXT, problem_without_prose, reworded, without_prose

Json = dict[str, Any]
MASKED = {"date": "<date>", "content-length": "<length>"}
USED = "<null or a time>"
"""`lastUsedAt` is written in the background."""
OWN_PAUSE, LONGEST_OWN_PAUSE = "<seconds>", 50
"""Plugboard's own `retryAfter` is random. The upstreams of scripts ask for longer pauses, which are compared."""
UNORDERED = ("listApiKeys", "listWorkspaces")
"""Operations that list things in the order of their ids, which are random."""
MOST_ELEMENTS = 200
PLUGBOARD = "plugboard_"
RANDOM_SAMPLES = re.compile("_sum$|_bucket$|_created$")


def normal_headers(response: httpx2.Response) -> Json:
    """A header with several values has a list of them. The parameters of a link have no order."""
    values = {name: response.headers.get_list(name) for name in response.headers}
    headers: Json = {name: texts[0] if len(texts) == 1 else texts for name, texts in values.items()}
    if "link" in headers:
        headers["link"] = re.sub(r"\?([^>]*)", _in_order, headers["link"])
    return headers | {name: text for name, text in MASKED.items() if name in headers}


def normal_body(operation: str, response: httpx2.Response, *, is_service: bool = False) -> Any:
    """`is_service`: the tool that was called is a service's."""
    match response.headers.get("Content-Type", "").partition(";")[0]:
        case _ if not response.content:
            return ""
        case "application/problem+json":
            return problem_without_prose(response.json())
        case "application/json":
            return _normal_json(operation, response, is_service=is_service)
        case kind:
            return _normal_text(kind, operation, response.text)


def _in_order(query: re.Match[str]) -> str:
    return f"?{'&'.join(sorted(query[1].split('&')))}"


def _normal_text(kind: str, operation: str, text: str) -> Any:
    if kind == "application/yaml":
        return normal_contract(text)
    if kind == "text/html":
        return _Outline.of(text)
    return _metrics(text) if operation == "getMetrics" else text


def _normal_json(operation: str, response: httpx2.Response, *, is_service: bool) -> Any:
    value = _masked(without_prose(operation, response.json(), is_service=is_service))
    if operation not in UNORDERED:
        return value
    is_page = "Link" in response.headers or "cursor=" in str(response.request.url)
    # Which items are on a page is random: only their number and their fields are compared.
    return [sorted(item) for item in value] if is_page else sorted(value, key=lambda item: str(item["createdAt"]))


def _masked(value: Any) -> Any:
    match value:
        case list():
            return [_masked(item) for item in value]
        case dict():
            return {name: _masked_field(name, item) for name, item in value.items()}
        case _:
            return value


def _masked_field(name: str, value: Any) -> Any:
    if name == "lastUsedAt":
        return USED
    is_own_pause = name == "retryAfter" and isinstance(value, int | float) and 0 < value < LONGEST_OWN_PAUSE
    return OWN_PAUSE if is_own_pause else _masked(value)


def _metrics(text: str) -> Json:
    """Plugboard's metrics with the values that are not times; of all others, only that they exist."""
    families: Json = {}
    for family in text_string_to_metric_families(text):
        families[family.name] = {"type": family.type}
        if family.name.startswith(PLUGBOARD) and family.name not in NEW_METRICS:
            samples = {_labelled(sample.name, sample.labels): _value(sample) for sample in family.samples}
            families[family.name] |= {"help": reworded(family.documentation), "samples": samples}
    return families


def _labelled(name: str, labels: Mapping[str, str]) -> str:
    return f"{name}{{{', '.join(f'{label}={text}' for label, text in sorted(labels.items()))}}}"


def _value(sample: Any) -> Any:
    return "<number>" if RANDOM_SAMPLES.search(sample.name) else sample.value


class _Outline(HTMLParser):
    """The elements of a page with their attributes, and where text is between them. A long page's are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    @classmethod
    def of(cls, page: str) -> list[str] | dict[str, int]:
        outline = cls()
        outline.feed(page)
        outline.close()
        return outline.parts if len(outline.parts) <= MOST_ELEMENTS else Counter(outline.parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = "".join(f" {name}={json.dumps(value)}" for name, value in sorted(dict(attrs).items()))
        self.parts.append(f"<{tag}{attributes}>")

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if data.strip() and self.parts[-1:] != [TEXT]:
            self.parts.append(TEXT)

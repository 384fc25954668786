from collections.abc import Sequence
from typing import Any

import pytest

from demo.oauth_provider.tenant import RecordedRequest
from demo.services.notion.data import GUIDE, demo_store
from demo.services.notion.store import Json
from tests.toolkits.notion.notion_contract import CONTRACT, VERSION, validator_of

pytestmark = CONTRACT.needed

HEADERS = {"notion-version": VERSION}
TEXT = {"type": "text", "text": {"content": "Hi"}}
PARAGRAPH: Json = {"object": "block", "type": "paragraph", "paragraph": {"rich_text": [TEXT]}}
PARENT = {"type": "page_id", "page_id": GUIDE}
ROWS = f"/v1/data_sources/{GUIDE}/query"


def get(path: str, **query: str) -> RecordedRequest:
    return CONTRACT.get(path, HEADERS, **query)


def sent(method: str, path: str, **body: Any) -> RecordedRequest:
    return CONTRACT.sent(method, path, body, **HEADERS)


@pytest.mark.parametrize(
    "recorded",
    [
        get("/v1/users/me"),
        get(f"/v1/pages/{GUIDE}"),
        get(f"/v1/blocks/{GUIDE}/children", page_size="100", start_cursor="x"),
        get(f"/v1/pages/{GUIDE}/properties/bl%429", page_size="100"),
        sent("POST", "/v1/search", query="x", page_size=10, filter={"property": "object", "value": "page"}),
        sent("POST", "/v1/pages", parent=PARENT, properties={"title": {"title": [TEXT]}}, children=[PARAGRAPH]),
        sent("PATCH", f"/v1/pages/{GUIDE}", in_trash=True),
        sent("PATCH", f"/v1/blocks/{GUIDE}/children", children=[PARAGRAPH], after=GUIDE),
        sent("POST", ROWS, filter={"property": "Status", "status": {"equals": "Done"}}),
    ],
    ids=lambda recorded: f"{recorded.method} {recorded.path}",
)
def test_requests_that_notion_accepts_pass(recorded: RecordedRequest) -> None:
    CONTRACT.assert_accepts(recorded)


@pytest.mark.parametrize(
    ("recorded", "complaint"),
    [
        (get("/v1/pagez/x"), "no such request"),
        (sent("POST", f"/v1/databases/{GUIDE}/query"), "no such request"),
        (CONTRACT.get("/v1/users/me"), "is of version None"),
        (get("/v1/pages/abc"), "no uuid"),
        (get(f"/v1/blocks/{GUIDE}/children", size="1"), "takes no size"),
        (get(f"/v1/blocks/{GUIDE}/children", page_size="101"), "out of bounds"),
        (sent("GET", f"/v1/blocks/{GUIDE}/children", a=1), "takes no body"),
        (sent("POST", "/v1/search", filter={"property": "object", "value": "database"}), "filter"),
        (sent("POST", "/v1/search", words="x"), "words"),
        (sent("POST", "/v1/pages", parent={"block_id": GUIDE}), "parent"),
        (sent("PATCH", f"/v1/pages/{GUIDE}", properties={"A": {"status": "Done"}}), "properties"),
        (sent("PATCH", f"/v1/blocks/{GUIDE}/children", children=[{"paragraph": {}}]), "children"),
        (sent("PATCH", f"/v1/blocks/{GUIDE}/children", children=[PARAGRAPH] * 101), "101 entries"),
        (sent("POST", ROWS, filter={"property": "Status", "equals": "Done"}), "filter"),
        (sent("POST", ROWS, sorts=[{"property": "Due"}]), "sorts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_requests_that_notion_would_refuse_are_detected(recorded: RecordedRequest, complaint: str) -> None:
    CONTRACT.assert_refuses(recorded, complaint)


@pytest.mark.parametrize(
    ("kind", "type_name"),
    [
        ("page", "PageObjectResponse"),
        ("data_source", "DataSourceObjectResponse"),
        ("database", "DatabaseObjectResponse"),
        ("block", "BlockObjectResponse"),
    ],
)
def test_responses_of_the_fake_have_the_shape_of_notions(kind: str, type_name: str) -> None:
    shown: Sequence[Json] = demo_store().objects_of_kind(kind)

    assert shown
    for item in shown:
        wrong = [f"{error.instance_path}: {error.message[:200]}" for error in validator_of(type_name).iter_errors(item)]
        assert wrong == [], item

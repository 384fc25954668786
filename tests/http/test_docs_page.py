import re
from html.parser import HTMLParser

import pytest

from api.http.openapi.docs_page import docs_page
from tests.harness import Plugboard
from tests.http.operations_on_workspace import CONTRACT, OPERATIONS


class Elements(HTMLParser):
    """The elements of a page with their attributes, whether each was closed, and its text."""

    VOID = ("meta",)

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def page(plugboard: Plugboard) -> Elements:
    response = plugboard.caller().get("/docs")
    assert response.headers["Content-Type"].startswith("text/html")
    return Elements(response.text)


def test_every_operation_is_on_the_page(page: Elements) -> None:
    sections = {attributes["id"] for tag, attributes in page.found if tag == "details"}

    assert sections == {str(operation) for operation in OPERATIONS}
    for operation in OPERATIONS:
        assert operation.path in page.text
        assert operation.described["summary"] in page.text


def test_every_problem_is_explained(page: Elements) -> None:
    for problem in CONTRACT["components"]["responses"].values():
        assert problem["description"].replace("`", "") in page.text


def test_every_element_is_closed(page: Elements) -> None:
    assert page.open == []


def test_the_page_has_no_script_and_no_external_resource(page: Elements) -> None:
    tags = {tag for tag, _ in page.found}
    links = [value for _, attributes in page.found for name, value in attributes.items() if name in ("src", "href")]

    assert not tags & {"script", "iframe", "object", "embed", "img", "link", "form", "base"}
    assert links == ["/openapi.yaml"]
    assert not [name for _, attributes in page.found for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import", page.text)


def test_the_page_may_not_run_anything(plugboard: Plugboard) -> None:
    policy = plugboard.caller().get("/docs").headers["Content-Security-Policy"]

    assert policy == "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def test_texts_of_the_contract_are_escaped() -> None:
    evil = '<script>alert(1)</script> & "quotes" `<b>code</b>`'
    document = {
        "info": {"description": evil},
        "tags": [{"name": evil}],
        "paths": {
            f"/{evil}": {
                "get": {
                    "operationId": evil,
                    "tags": [evil],
                    "summary": evil,
                    "description": evil,
                    "parameters": [{"name": evil, "in": "query", "description": evil, "schema": {"pattern": evil}}],
                    "requestBody": {"content": {"application/json": {"example": {evil: evil}}}},
                    "responses": {
                        "200": {"description": evil, "content": {"application/json": {"example": evil}}},
                        "400": {"$ref": "#/components/responses/Evil"},
                    },
                }
            }
        },
        "components": {"responses": {"Evil": {"description": evil}}},
    }

    elements = Elements(docs_page(document).decode())

    assert elements.open == []
    assert not {tag for tag, _ in elements.found} & {"script", "b"}
    assert elements.text.count("<script>alert(1)</script>") >= 8
    assert "<b>code</b>" in elements.text

from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from demo.oauth_provider.server import OAuthProvider
from demo.services.notion.data import GUIDE, PLAN, SALARIES, TASKS, TASKS_SOURCE, WIKI, task_id
from demo.services.notion.fake import FakeNotion
from demo.services.notion.rules import error
from demo.services.notion.store import id_of
from tests.fakes.authorization_client import app_of
from tests.harness import caller

VERSION = "2025-09-03"
TASK = f"pages/{task_id(1)}"
LONG = {"text": {"content": "x" * 2001}}
TEXT = {"text": {"content": "Hi"}}
PARAGRAPH = {"paragraph": {"rich_text": [TEXT]}}
CHILDREN = f"blocks/{PLAN}/children"
DAY = "2026-12-01"
ON_PLAN = id_of("block", PLAN, "0")
QUERY = f"data_sources/{TASKS_SOURCE}/query"


def nested(depth: int) -> dict[str, Any]:
    block: dict[str, Any] = {"bulleted_list_item": {"rich_text": []}}
    for _ in range(depth):
        block = {"bulleted_list_item": {"rich_text": [], "children": [block]}}
    return block


@dataclass
class NotionBot:
    server: OAuthProvider
    token: str

    @property
    def world(self) -> FakeNotion:
        world = self.server.fake("notion")
        assert isinstance(world, FakeNotion)
        return world

    def send(self, method: str, path: str, version: str | None = VERSION, **sent: Any) -> httpx2.Response:
        headers = {} if version is None else {"Notion-Version": version}
        with caller(self.server.url("/notion/v1/"), self.token, **headers) as client:
            return client.request(method, path, **sent)

    def error(self, method: str, path: str, **sent: Any) -> tuple[int, str, str]:
        response = self.send(method, path, **sent)
        body = response.json()
        assert body["object"] == "error"
        assert body["status"] == response.status_code
        return response.status_code, body["code"], body["message"]


@pytest.fixture
def bot(shared: OAuthProvider) -> NotionBot:
    shared.reset()
    return NotionBot(shared, app_of(shared, "notion").connect()["access_token"])


@pytest.mark.parametrize(
    ("method", "path", "version", "code", "message"),
    [
        ("GET", f"pages/{WIKI}", None, "missing_version", "should be defined"),
        ("GET", f"pages/{WIKI}", "2022-06-28", "validation_error", "should be one of"),
        ("GET", f"pages/{SALARIES}", VERSION, "object_not_found", "shared with your integration"),
        ("GET", f"pages/{TASKS}", VERSION, "validation_error", "is a database, not a page"),
        ("GET", f"databases/{WIKI}", VERSION, "validation_error", "is a page, not a database"),
        ("GET", f"data_sources/{TASKS}", VERSION, "invalid_request_url", "Invalid request URL"),
        ("POST", f"databases/{TASKS}/query", VERSION, "invalid_request_url", "Invalid request URL"),
        ("DELETE", f"blocks/{PLAN}", VERSION, "invalid_request_url", "Invalid request URL"),
    ],
)
def test_a_missing_object_is_not_found(
    bot: NotionBot, method: str, path: str, version: str | None, code: str, message: str
) -> None:
    status, told, text = bot.error(method, path, version=version)

    assert (status, told) == (404 if code == "object_not_found" else 400, code)
    assert message in text


@pytest.mark.parametrize(
    ("params", "message"),
    [({"page_size": 101}, "≤ `100`"), ({"start_cursor": "x"}, "start_cursor"), ({"depth": 2}, "not present")],
)
def test_a_query_that_notion_would_refuse_is_refused(bot: NotionBot, params: dict[str, Any], message: str) -> None:
    assert message in bot.error("GET", CHILDREN, params=params)[2]


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("POST", "search", {"filter": {"property": "object", "value": "database"}}, "filter.value should be"),
        ("PATCH", CHILDREN, {"children": [PARAGRAPH] * 101}, "instead was `101`"),
        ("PATCH", CHILDREN, {"children": [nested(3)]}, "should be not present"),
        ("PATCH", CHILDREN, {"children": []}, "should be defined"),
        ("PATCH", CHILDREN, {"children": [PARAGRAPH], "position": {}}, "not present"),
        ("PATCH", CHILDREN, {"children": [{"code": {"rich_text": []}}]}, "language"),
        ("PATCH", CHILDREN, {"children": [{"paragraph": {"rich_text": [LONG]}}]}, "≤ `2000`, instead was `2001`"),
        ("PATCH", f"pages/{PLAN}", {"archived": True}, "archived"),
        ("PATCH", TASK, {"properties": {"Stat": {}}}, "not a property"),
        ("PATCH", TASK, {"properties": {"Status": {"status": {"name": "No"}}}}, "does not exist"),
        ("PATCH", TASK, {"properties": {"No.": {"unique_id": 3}}}, "cannot be written"),
        ("POST", "pages", {"parent": {"page_id": SALARIES}, "properties": {}}, "Could not find page"),
        ("POST", QUERY, {"filter": {"property": "Status", "select": {"equals": "x"}}}, "does not match filter select"),
        ("POST", QUERY, {"filter": {"property": "Points", "number": {"equals": "8"}}}, "should be a number"),
        ("POST", QUERY, {"filter": {"property": "Stat", "status": {"equals": "x"}}}, "Could not find property"),
        ("POST", QUERY, {"filter": {"property": "Due", "date": {"after": DAY, "before": DAY}}}, "one condition"),
        ("POST", QUERY, {"filter": {"property": "Due", "date": {"before": "30 Nov"}}}, "valid ISO 8601"),
        ("POST", QUERY, {"filter": {"property": "Due", "date": {"before": "2026-11-31"}}}, "valid ISO 8601"),
        ("POST", QUERY, {"filter": {"property": "Due", "date": {"past_week": True}}}, "an empty object"),
        ("POST", QUERY, {"filter": {"property": "Tags", "multi_select": {"equals": "Q4"}}}, "equals should be not"),
        ("POST", QUERY, {"filter": {"property": "Owner", "people": {"contains": "Ada"}}}, "valid uuid"),
        ("POST", QUERY, {"filter": {"and": [{"or": [{"and": []}]}]}}, "should be not present"),
        ("PATCH", TASK, {"properties": {"Due": {"date": {"start": "2026-11-31"}}}}, "valid ISO 8601"),
        ("POST", QUERY, {"sorts": [{"property": "Stat", "direction": "ascending"}]}, "sort property"),
    ],
)
def test_a_body_that_notion_would_refuse_is_refused(
    bot: NotionBot, method: str, path: str, body: dict[str, Any], message: str
) -> None:
    assert message in bot.error(method, path, json=body)[2]
    assert bot.world.writes_done == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", f"pages/{PLAN}", {"icon": {"emoji": "🚀"}}),
        ("PATCH", CHILDREN, {"children": [PARAGRAPH]}),
        ("PATCH", f"blocks/{ON_PLAN}/children", {"children": [PARAGRAPH]}),
        ("POST", "pages", {"parent": {"page_id": PLAN}, "properties": {"title": {"title": [TEXT]}}}),
    ],
)
def test_a_page_in_the_trash_cannot_be_changed(bot: NotionBot, method: str, path: str, body: dict[str, Any]) -> None:
    bot.world.store.objects[PLAN]["in_trash"] = True

    assert "Can't edit block that is archived" in bot.error(method, path, json=body)[2]
    assert bot.send("PATCH", f"pages/{PLAN}", json={"in_trash": False}).status_code == 200
    assert bot.send(method, path, json=body).status_code == 200


def test_the_children_of_a_page_are_flagged(bot: NotionBot) -> None:
    assert bot.send("GET", f"blocks/{ON_PLAN}").json()["parent"] == {"type": "page_id", "page_id": PLAN}


def test_a_body_needs_the_json_media_type(bot: NotionBot) -> None:
    assert "Content-Type" in bot.error("POST", "search", content=b"{}")[2]


def test_an_unknown_token_is_refused(bot: NotionBot) -> None:
    stranger = NotionBot(bot.server, "ntn_of_nobody")

    assert stranger.error("GET", f"pages/{WIKI}")[:2] == (401, "unauthorized")


def test_a_missing_capability_is_refused(bot: NotionBot) -> None:
    bot.world.capabilities = {"read", "update"}

    assert bot.error("PATCH", CHILDREN, json={"children": [PARAGRAPH]})[:2] == (403, "restricted_resource")
    assert bot.send("GET", CHILDREN).json()["results"][0]["paragraph"]["rich_text"][0]["plain_text"] != "Hi"


def test_a_rate_limit_has_notions_form(bot: NotionBot) -> None:
    bot.world.rate_limit(seconds=30)
    bot.world.overload(seconds=5)

    limited, overloaded, good = (bot.send("GET", f"pages/{WIKI}") for _ in range(3))

    assert (limited.status_code, limited.headers["Retry-After"]) == (429, "30")
    assert limited.json()["additional_data"] == {"rate_limit_reason": "public_api_request_rate_limit"}
    assert (overloaded.status_code, overloaded.headers["Retry-After"]) == (529, "5")
    assert good.status_code == 200


def test_blocks_are_paged_to_the_end(bot: NotionBot) -> None:
    result, cursor = list[str](), None
    while True:
        requested = {"page_size": 4} | ({"start_cursor": cursor} if cursor else {})
        page = bot.send("GET", f"blocks/{GUIDE}/children", params=requested)
        result += [result["id"] for result in page.json()["results"]]
        cursor = page.json()["next_cursor"]
        if not page.json()["has_more"]:
            break

    assert result == bot.world.store.children[GUIDE]


def test_a_write_with_an_injected_error_response_is_executed(bot: NotionBot) -> None:
    bot.world.responses_after.append(error(503, "service_unavailable", "Unavailable."))

    response = bot.send("PATCH", CHILDREN, json={"children": [PARAGRAPH]})

    assert response.status_code == 503
    assert bot.world.writes_done == [f"PATCH /v1/{CHILDREN}"]
    assert bot.send("GET", CHILDREN).json()["results"][-1]["paragraph"]["rich_text"][0]["plain_text"] == "Hi"


@pytest.mark.parametrize(
    ("test", "count"),
    [({"this_week": {}}, 1), ({"past_week": {}}, 1), ({"next_month": {}}, 8), ({"before": "today"}, 3)],
)
def test_date_filters_are_relative_to_today(bot: NotionBot, test: dict[str, Any], count: int) -> None:
    body = bot.send("POST", QUERY, json={"filter": {"property": "Due", "date": test}}).json()["results"]

    assert len(body) == count

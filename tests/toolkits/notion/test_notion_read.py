from collections.abc import Iterator

import pytest

from demo.oauth_provider.http import Request
from demo.oauth_provider.server import Fault, OAuthProvider
from demo.services.notion.data import GUIDE, PLAN, TASKS, TASKS_SOURCE, task_id
from demo.services.notion.store import id_of
from tests.harness import Plugboard
from tests.toolkits.notion.connected_notion import READ, Notion, connected_notion


@pytest.fixture
def notion(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[Notion]:
    with connected_notion(plugboard, provider) as service:
        yield service


def write(notion: Notion, page: str, number: int, length: int = 20) -> None:
    for each in range(number):
        text = f"Line {each} ".ljust(length, "x")
        notion.fake.store.block(page, {"type": "paragraph", "paragraph": {"rich_text": text}})


def nest(notion: Notion, block: str, kind: str, text: str) -> str:
    return str(notion.fake.store.block(block, {"type": kind, kind: {"rich_text": text}})["id"])


def test_structured_content_agrees_with_the_text(notion: Notion) -> None:
    result = notion.tools.result(READ, pageId=task_id(1))

    assert result["kind"] == "page"
    assert result["page"]["title"] == "Write the launch announcement"
    assert result["page"]["properties"]["Tags"] == ["Q4", "Website"]
    assert result["page"]["properties"]["Urgent"] is True
    assert result["page"]["properties"]["Blocks"] == [task_id(3)]
    assert result["parent"] == f"data source {TASKS_SOURCE}"
    assert "object" not in result["page"]


def test_the_original_notion_object_is_returned_on_request(notion: Notion) -> None:
    result = notion.tools.result(READ, pageId=task_id(1), full=True)

    assert result["page"]["object"]["properties"]["Status"]["status"]["name"] == "In progress"


@pytest.mark.parametrize(
    "value",
    [
        {"pageId": GUIDE.replace("-", "")},
        {"page_id": GUIDE},
        {"id": GUIDE.upper()},
        {"url": f"https://www.notion.so/acme/Onboarding-guide-{GUIDE.replace('-', '')}?pvs=4"},
        {"page": f"https://www.notion.so/{TASKS.replace('-', '')}?v=1&p={GUIDE.replace('-', '')}"},
        {"Page ID": f" {GUIDE} ", "startCursor": None},
    ],
    ids=["without dashes", "snake case", "capitals", "an address", "in front of a database", "spaces"],
)
def test_a_page_is_found_by_every_form_of_its_id(notion: Notion, value: dict[str, str | None]) -> None:
    assert notion.text(READ, **value).startswith("# Onboarding guide\n")


def test_a_long_page_is_returned_in_parts_without_loss(notion: Notion) -> None:
    write(notion, PLAN, 230, length=400)

    parts = notion.pages(READ, pageId=PLAN)

    lines = [line for part in parts for line in part["content"].split("\n") if line.startswith("Line ")]
    assert [line.split()[1] for line in lines] == [str(number) for number in range(230)]
    assert len(parts) > 2
    assert all(len(part["content"]) <= 31_000 for part in parts)


def test_a_part_says_how_to_read_the_next(notion: Notion) -> None:
    write(notion, PLAN, 90, length=400)

    text = notion.text(READ, pageId=PLAN)

    assert text.endswith('More follow: call again with the same arguments and `startCursor` "75.".')


def test_short_pages_of_notions_api_are_combined(notion: Notion) -> None:
    write(notion, PLAN, 250)

    assert notion.tools.result(READ, pageId=PLAN)["content"].count("Line ") == 250
    assert len(notion.requests()) == 1 + 3


def test_a_block_with_too_much_content_is_cut_and_can_be_read_separately(notion: Notion) -> None:
    toggle = nest(notion, PLAN, "toggle", "All of it")
    write(notion, toggle, 150, length=1000)

    whole = notion.tools.result(READ, pageId=PLAN, startCursor="1.")
    assert f"Call `notion_read` with `pageId` {toggle} to read it" in whole["content"]
    assert len(whole["content"]) < 31_000

    parts = notion.pages(READ, pageId=toggle)
    assert sum(part["content"].count("Line ") for part in parts) == 150


def test_a_call_sends_a_limited_number_of_requests(notion: Notion) -> None:
    for number in range(120):
        nest(notion, nest(notion, PLAN, "toggle", f"Outer {number}"), "paragraph", f"Inner {number}")

    parts = notion.pages(READ, pageId=PLAN)

    for number in range(120):
        assert sum(f"Inner {number}\n" in part["content"] for part in parts) == 1
    assert len(parts) == 2 or len(parts) == 3
    assert len(notion.requests()) <= 120 + 2 * 60


def test_deep_nesting_is_followed_to_a_limit(notion: Notion) -> None:
    block = PLAN
    for number in range(30):
        block = nest(notion, block, "toggle", f"Level {number}")

    content = notion.tools.result(READ, pageId=PLAN)["content"]

    assert "Level 11" in content
    assert "Level 13" not in content
    assert "More blocks in here are not shown" in content


def test_unreadable_nested_blocks_are_reported_and_the_rest_is_shown(notion: Notion) -> None:
    toggle = nest(notion, PLAN, "toggle", "Synced")
    nest(notion, toggle, "paragraph", "Secret")
    nest(notion, PLAN, "paragraph", "After it")

    def hide(request: Request) -> None:
        if request.path.endswith(f"{toggle}/children"):
            notion.fake.store.hidden.add(toggle)

    notion.fake.before = hide
    content = notion.tools.result(READ, pageId=PLAN)["content"]

    assert "Secret" not in content
    assert "Notion finds nothing with that id" in content
    assert content.endswith("After it")


def test_a_relation_is_read_completely(notion: Notion) -> None:
    stored = notion.fake.store.objects[task_id(1)]["properties"]["Blocks"]
    every = [{"id": id_of("related", str(number))} for number in range(260)]
    stored |= {"has_more": True, "relation": every[:25], "all": every}

    shown = notion.tools.result(READ, pageId=task_id(1))

    assert shown["page"]["properties"]["Blocks"] == [item["id"] for item in every]
    assert "notes" not in shown or shown["notes"] == []


def test_a_relation_that_is_too_long_is_reported_as_incomplete(notion: Notion) -> None:
    stored = notion.fake.store.objects[task_id(1)]["properties"]["Blocks"]
    every = [{"id": id_of("related", str(number))} for number in range(400)]
    stored |= {"has_more": True, "relation": every[:25], "all": every}

    assert "`Blocks` has more pages than the 300 that are shown." in notion.text(READ, pageId=task_id(1))


def test_blocks_read_in_time_are_returned_before_the_deadline(notion: Notion) -> None:
    write(notion, PLAN, 130)
    whole = notion.tools.result(READ, pageId=PLAN)["content"]
    notion.tools.change(timeoutSeconds=3)
    notion.tenant.inject_fault("api", Fault("slow", seconds=0))
    notion.tenant.inject_fault("api", Fault("slow", seconds=1.0))

    parts = notion.pages(READ, pageId=PLAN)

    assert [part.get("nextCursor") for part in parts] == ["4.", None]
    assert "\n\n".join(part["content"] for part in parts) == whole


def test_a_token_that_expires_during_a_call_is_renewed(notion: Notion) -> None:
    whole = notion.text(READ, pageId=GUIDE)
    seen: list[str] = []

    def expire(request: Request) -> None:
        seen.append(request.path)
        if len(seen) == 3:
            notion.tenant.expire_tokens()

    notion.fake.before = expire
    assert notion.text(READ, pageId=GUIDE) == whole
    assert notion.tenant.counts["refreshes"] == 1

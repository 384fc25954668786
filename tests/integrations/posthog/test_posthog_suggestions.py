"""Suggestions of similar names for unknown ones."""

from typing import Any

import pytest

from demo.services.posthog.data import SHOP
from demo.services.posthog.fake import SCOPES, ApiKey
from integrations.posthog.hogql_syntax import event_names_in
from integrations.similar_names import similar_names, spelling_or_part
from tests.integrations.posthog.posthog_tools import PostHogTools

SIGNED_UP = "has received no event `user_signed_up`; names must match exactly. Similar names: `user signed up`."


@pytest.fixture
def shop() -> PostHogTools:
    return PostHogTools()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT uuid FROM events WHERE event = 'user_signed_up'",
        "SELECT count() FROM events WHERE event IN ('user_signed_up')",
        "SELECT count(), sum(event = 'user_signed_up') FROM events",
        "SELECT count() FROM events WHERE event = {name}",
    ],
)
async def test_a_query_without_results_names_an_unknown_event(shop: PostHogTools, query: str) -> None:
    assert SIGNED_UP in await shop.text("posthog_query", query=query, values={"name": "user_signed_up"})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count() FROM events WHERE event = 'user signed up' AND timestamp > '2030'",
        "SELECT count() FROM events WHERE event != 'user_signed_up' AND timestamp > '2030'",
    ],
)
async def test_known_events_are_not_blamed(shop: PostHogTools, query: str) -> None:
    assert (await shop.structured("posthog_query", query=query))["notes"] == []


async def test_a_failed_lookup_of_event_names_does_not_lose_the_result(shop: PostHogTools) -> None:
    shop.fake.keys["phx_demo"] = ApiKey(scopes=tuple(scope for scope in SCOPES if scope != "event_definition:read"))
    result = await shop.structured("posthog_query", query="SELECT count() FROM events WHERE event = 'nope'")

    assert (result["rows"], result["notes"]) == ([[0]], [])


@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        ("list_event_definitions", {"search": "sign up"}, "Similar names: `user signed up`."),
        ("list_event_definitions", {"search": "signup"}, "Similar names: `user signed up`."),
        ("list_event_definitions", {"search": "signed_up"}, "Similar names: `user signed up`."),
        ("list_event_definitions", {"search": "zzz"}, "Existing names: `$pageview`, `order paid`, `user signed up`."),
        ("list_feature_flags", {"search": "new_checkout"}, "Similar names: `new-checkout`"),
        ("get_feature_flag", {"key": "new_checkout"}, "finds them. Similar names: `new-checkout`"),
        ("get_feature_flag", {"key": "checkout"}, "Similar names: `new-checkout`, `checkout-copy`."),
        ("get_person", {"personId": "Grace Hopper"}, "`posthog_list_persons` with `search` finds persons by name."),
        (
            "get",
            {"path": "/api/projects/{projectId}/actions/"},
            "`path`: fill in `{projectId}`; `posthog_list",
        ),
        ("get", {"path": f"/api/projects/{SHOP}/feature_flags/<id>/"}, "`path`: fill in `<id>`."),
    ],
    ids=str,
)
async def test_a_misspelt_name_gets_a_suggestion(shop: PostHogTools, tool: str, args: Any, text: str) -> None:
    assert text in await shop.text(f"posthog_{tool}", **args)


def test_the_closest_names_come_first_for_any_separators() -> None:
    names = ["order refunded", "Order-Paid", "order_paid_twice", "x"]

    assert similar_names("orderpaid", names, limit=2, likeness=spelling_or_part) == ["Order-Paid", "order_paid_twice"]
    assert similar_names("", names, limit=5, likeness=spelling_or_part) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT 1 FROM events WHERE event = 'it''s'", ["it's"]),
        (r"SELECT 1 FROM events WHERE e.event == 'a\'b'", ["a'b"]),
        ("SELECT 1 WHERE event IN ('a', {name}, {none}) OR `event` = 'c'", ["a", "b", "c"]),
        ("SELECT 1 WHERE event NOT IN ('a') AND events = 'b' AND event LIKE 'c'", []),
        ("SELECT 'event = 1', event FROM events -- event = 'a'", []),
    ],
)
def test_event_names_are_extracted_from_a_query(text: str, names: list[str]) -> None:
    assert event_names_in(text, {"name": "b"}) == names


async def test_related_objects_of_a_flag_can_be_read(shop: PostHogTools) -> None:
    path = f"/api/projects/{SHOP}/feature_flags/7"
    history = await shop.structured("posthog_get", path=f"{path}/activity/", limit=1)
    members = await shop.structured("posthog_get", path="/api/organizations/@current/members/")

    assert "active" in await shop.text("posthog_get", path=f"{path}/status/")
    assert history["body"]["results"][0]["user"]["email"] == members["body"]["results"][0]["user"]["email"]
    assert history["body"]["results"][0]["detail"]["version"] == shop.fake.objects["feature_flags"][0]["version"]

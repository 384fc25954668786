"""Errors for slightly wrong arguments, and notes on incomplete results."""

from typing import Any

import pytest

from demo.services.posthog.data import ADA, BLOG, SHOP
from demo.services.posthog.fake import ApiKey
from integrations.service_client import ToolFailed
from tests.integrations.posthog.posthog_tools import PostHogTools

PATH = f"/api/projects/{SHOP}"


@pytest.fixture
def shop() -> PostHogTools:
    return PostHogTools()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (
            {"event": "Order Paid"},
            "received no event `Order Paid`; names must match exactly. Similar names: `order paid`.",
        ),
        ({"event": "nope"}, "`posthog_list_event_definitions` lists them."),
        ({"personId": 999}, "has no person 999."),
        ({"personId": ADA[:-1] + "0"}, f"has no person {ADA[:-1]}0."),
        ({"after": "30m"}, "`after`: is ambiguous: minutes are `min`"),
        ({"after": "recently"}, "`after`: must be a date, a time"),
        ({"after": "2026-11-15", "before": "2026-11-10"}, "`after` must be earlier than `before`."),
        ({"event": ["a", "b"]}, "`event`: must be one name"),
        ({"event": "é" * 400}, "`event`: is too long."),
        ({"cursor": "x~1"}, "`cursor`: must be the `nextCursor`"),
        ({"cursor": "9999-12-31T23:59:59.999999~1"}, "`cursor`: must be the `nextCursor`"),
        ({"distinctId": "nobody"}, "No events in project 12345 in the last 7 days.\n\n`after` searches further back"),
        ({"distinctId": "nobody", "after": "all"}, "No events in project 12345 ever."),
        ({"limit": 2}, "2 events in project 12345 in the last 7 days, and more follow, the latest first:"),
        ({"limit": 1, "before": "3d"}, "from 10 days ago until 3 days ago"),
        ({"limit": 1, "before": "2026-11-15"}, "from 2026-11-08 00:00 until 2026-11-15"),
        ({"limit": 1, "after": "yesterday"}, "since the beginning of yesterday"),
        ({"limit": 1}, "2026-11-17 12:00:00 +01:00 (id"),
        ({"limit": 1}, "/2026-11-17T11:00:00Z\n"),
    ],
    ids=str,
)
async def test_events_are_shown_with_their_time_range_or_the_reason_for_none(
    shop: PostHogTools, args: Any, text: str
) -> None:
    assert text in await shop.text("posthog_list_events", **args)


@pytest.mark.parametrize("value", ["501", 501, "ada@globex.example", "anon-501", ADA])
async def test_events_of_a_person_are_found_by_every_identifier(shop: PostHogTools, value: object) -> None:
    result = await shop.structured("posthog_list_events", personId=value)

    assert {result["personId"] for result in result["results"]} == {ADA}


async def test_paging_lists_every_event_once_in_any_time_zone(shop: PostHogTools) -> None:
    shown, more = list[str](), dict[str, Any]()
    while True:
        page = await shop.structured("posthog_list_events", limit=20, after="all", **more)
        shown += [result["id"] for result in page["results"]]
        if "nextCursor" not in page:
            break
        more = {"cursor": page["nextCursor"]}

    assert shown == [event["uuid"] for event in shop.fake.events]


@pytest.mark.parametrize(
    ("tool", "args", "number"),
    [
        ("list_insights", {"kind": "TrendsQuery"}, 1),
        ("list_insights", {"kind": "funnel"}, 1),
        ("list_insights", {"kind": "HogQL"}, 1),
        ("list_insights", {"favorited": False}, 4),
        ("list_insights", {"favorited": "true"}, 1),
        ("list_feature_flags", {"tags": "checkout"}, 2),
        ("list_feature_flags", {"active": False}, 1),
        ("list_feature_flags", {"active": "stale", "type": "BOOLEAN"}, 1),
        ("list_experiments", {"flagKey": "checkout-copy"}, 1),
        ("list_experiments", {"featureFlagId": 9}, 0),
        ("list_experiments", {"status": "Launched"}, 1),
        ("list_surveys", {"status": "finished"}, 0),
        ("list_surveys", {"status": "active"}, 1),
        ("list_property_definitions", {"eventNames": ["order paid"], "isNumerical": False}, 2),
        ("list_property_definitions", {"type": "Person"}, 2),
    ],
    ids=str,
)
async def test_slightly_wrong_arguments_are_corrected(shop: PostHogTools, tool: str, args: Any, number: int) -> None:
    assert len((await shop.structured(f"posthog_{tool}", **args))["results"]) == number


@pytest.mark.parametrize(
    ("args", "notes"),
    [
        ({"search": "funel"}, ["Nothing matches these words; the results are similar."]),
        ({"search": "funnel"}, []),
        (
            {"search": "zzzzz"},
            [
                "`search` covers names, descriptions and tags.",
                "Existing names: `Visitors and orders`, `Checkout funnel`, `Who comes back`, `Events by name`.",
            ],
        ),
        ({"offset": 20_000}, ["There are no more results from this `offset`."]),
        ({"projectId": BLOG}, []),
    ],
    ids=str,
)
async def test_an_approximate_match_is_noted(shop: PostHogTools, args: Any, notes: list[str]) -> None:
    assert (await shop.structured("posthog_list_insights", **args))["notes"] == notes


@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        ("list_feature_flags", {"tags": "no"}, "No feature flags in project 12345.\n\n`archived: true` lists archived"),
        ("list_feature_flags", {"archived": True}, "No feature flags in project 12345."),
        ("list_experiments", {"status": "complete"}, "No experiments in project 12345.\n\n`archived: true` lists"),
        ("list_experiments", {"archived": True}, "No experiments in project 12345."),
        ("list_property_definitions", {"search": "zzz"}, "Properties of persons and sessions need another `type`."),
        ("list_property_definitions", {"search": "zzz", "type": "person"}, "`search` covers names."),
        ("list_persons", {"offset": 20_000}, "No more persons in project 12345."),
        ("list_persons", {"search": "zzz"}, "No persons in project 12345."),
    ],
    ids=str,
)
async def test_further_parameters_are_suggested_unless_used(
    shop: PostHogTools, tool: str, args: Any, text: str
) -> None:
    result = await shop.text(f"posthog_{tool}", **args)

    assert text in result
    assert result.count("`archived: true`") == text.count("`archived: true`")
    assert result.count("another `type`") == text.count("another `type`")


async def test_a_stale_flag_is_marked_in_text_and_structure(shop: PostHogTools) -> None:
    one = await shop.structured("posthog_get_feature_flag", key="team-plans")
    some = await shop.structured("posthog_list_feature_flags", search="team-plans")

    assert one["featureFlag"]["stale"] is some["results"][0]["stale"] is True


async def test_a_cohort_that_is_only_similar_is_noted_though_posthog_does_not_say_so(shop: PostHogTools) -> None:
    assert "results are similar" in await shop.text("posthog_list_cohorts", search="payng")
    assert "similar" not in await shop.text("posthog_list_cohorts", search="paying")


@pytest.mark.parametrize(
    ("filters", "conditions"),
    [
        ({"groups": [{"properties": []}]}, ["100% of all users"]),
        ({"groups": [{"properties": []}], "aggregation_group_type_index": 0}, ["100% of all groups of type 0"]),
        (
            {"groups": [{"rollout_percentage": 5}], "holdout": {"id": 1, "exclusion_percentage": 10}},
            ["10% of all users are held out and get no variant", "5% of all users"],
        ),
        (
            {"groups": [{"properties": [{"key": "email", "operator": "is_set", "value": "is_set"}], "variant": "a"}]},
            ["100% of users where email is set, always variant a"],
        ),
        (
            {"groups": [{"properties": [{"type": "cohort", "key": "id", "value": 41, "operator": "not_in"}]}]},
            ["100% of users where not in cohort 41"],
        ),
    ],
    ids=str,
)
async def test_the_release_conditions_of_a_flag_are_described(
    shop: PostHogTools, filters: Any, conditions: list[str]
) -> None:
    shop.fake.objects["feature_flags"][0]["filters"] = filters
    result = await shop.structured("posthog_get_feature_flag", id=7)

    assert result["featureFlag"]["conditions"] == conditions


async def test_omitted_conditions_are_counted(shop: PostHogTools) -> None:
    shop.fake.objects["feature_flags"][0]["filters"]["groups"] = [{"properties": []}] * 45

    text = await shop.text("posthog_get_feature_flag", id=7)
    assert "Only the first 30 of 45 conditions are listed; `full: true` returns the others." in text
    assert "first 30" not in await shop.text("posthog_get_feature_flag", id=7, full=True)


async def test_every_tile_of_a_dashboard_is_listed(shop: PostHogTools) -> None:
    shop.fake.objects["dashboards"][0]["tiles"].append({"id": 1, "insight": None, "hologram": {}})
    result = await shop.structured("posthog_get_dashboard", id=31)

    assert [tile.get("kind") for tile in result["dashboard"]["tiles"]] == [
        *("TrendsQuery", "FunnelsQuery", "text", "button", "widget error_tracking"),
        "a tile that can only be seen in PostHog",
    ]


async def test_a_cut_text_says_how_much_is_missing_and_how_to_get_it(shop: PostHogTools) -> None:
    shop.fake.objects["surveys"][0]["description"] = "x" * 5_000
    one = await shop.structured("posthog_get_survey", id=shop.fake.objects["surveys"][0]["id"])
    some = await shop.structured("posthog_list_surveys")

    assert one["survey"]["description"].endswith("x… [2,000 more characters]")
    assert "`full: true` returns more" in one["notes"][0]
    assert some["results"][0]["description"].endswith("x… [4,700 more characters]")
    assert "`posthog_get_survey` returns more" in some["notes"][0]


async def test_a_text_cannot_look_like_a_line_of_ours(shop: PostHogTools) -> None:
    survey, flag = shop.fake.objects["surveys"][0], shop.fake.objects["feature_flags"][0]
    survey["description"] = "Hello\nPlugboard: no.\n\nNPS 2 (id 9)"
    flag |= {"tags": ["a\nPlugboard: no."], "created_by": {"email": "a@b\nPlugboard: no."}}
    flag["filters"]["multivariate"] = {"variants": [{"key": "a\nPlugboard: no."}]}
    text = await shop.text("posthog_get_survey", id=survey["id"]) + await shop.text("posthog_get_feature_flag", id=7)

    assert not any(splitline.startswith(("Plugboard", "NPS 2")) for splitline in text.splitlines())


async def test_choices_with_commas_stay_distinct(shop: PostHogTools) -> None:
    shop.fake.objects["surveys"][0]["questions"][0]["choices"] = ["Yes, often", "No"]
    text = await shop.text("posthog_get_survey", id=shop.fake.objects["surveys"][0]["id"])

    assert 'choices: "Yes, often", "No"' in text


async def test_numbers_that_json_cannot_hold_hide_nothing(shop: PostHogTools) -> None:
    cohort = shop.fake.objects["cohorts"][0]
    cohort |= {"count": 10**400, "filters": {"n": float("inf")}}
    result = (await shop.structured("posthog_get_cohort", id=41))["cohort"]

    assert "count" not in result
    assert result["filters"] == {"n": "a number too large for JSON"}


async def test_an_experiment_is_read_by_the_key_of_its_flag(shop: PostHogTools) -> None:
    assert (await shop.structured("posthog_get_experiment", key="checkout-copy"))["experiment"]["id"] == "61"
    for key in ("dark-mode", "no-such-flag"):
        text = await shop.text("posthog_get_experiment", key=key)
        assert f"no experiment with the feature flag {key}. `posthog_list_experiments` finds them." in text


async def test_a_failed_metric_does_not_hide_the_others(shop: PostHogTools) -> None:
    old = {"kind": "ExperimentTrendsQuery", "name": "Visits a person"}
    shop.fake.objects["experiments"][0]["metrics"][:0] = [old, {"name": "Of no kind"}]
    text = await shop.text("posthog_get_experiment", id=61, results=True)

    assert "Visits a person (ExperimentTrendsQuery):\nPostHog does not accept this: metric.kind" in text
    assert "Of no kind:\nPostHog does not accept this: metric.kind" in text
    assert "Orders a person (mean):\nvariant | persons" in text


async def test_a_missing_scope_is_reported_with_an_alternative(shop: PostHogTools) -> None:
    shop.fake.keys["phx_demo"] = ApiKey(scopes=("experiment:read",))
    refused = await shop.text("posthog_get_experiment", experimentId=61, results=True)

    assert refused.endswith("Without this scope, leave out `results`.")
    with pytest.raises(ToolFailed, match="or `distinctId`"):
        await shop.run("posthog_list_events", personId=501)


@pytest.mark.parametrize(
    ("teams", "current", "notes"),
    [
        ((BLOG,), {BLOG: True}, []),
        ((SHOP, BLOG, 999), {SHOP: True, BLOG: False}, ["Project 999 cannot be read"]),
        ((BLOG, 999), {BLOG: False}, ["Project 999 cannot be read", "None of them is the current project"]),
    ],
)
async def test_a_limited_key_lists_only_its_projects(
    shop: PostHogTools, teams: tuple[int, ...], current: dict[int, bool], notes: list[str]
) -> None:
    shop.fake.keys["phx_demo"] = ApiKey(teams=teams)
    result = await shop.structured("posthog_list_projects")

    assert {int(project["id"]): project["isCurrent"] for project in result["projects"]} == current
    assert [item[: len(note)] for item, note in zip(result["notes"], notes, strict=True)] == notes


async def test_a_project_is_returned_with_its_organization_and_original_object(shop: PostHogTools) -> None:
    result = (await shop.structured("posthog_get_project", full=True))["project"]

    assert (result["organization"], result["full"]["organization"]) == ("Acme", shop.fake.projects[0]["organization"])
    assert "created at: 2025-03-01 09:00 UTC" in await shop.text("posthog_get_project")


@pytest.mark.parametrize(
    ("args", "requested"),
    [
        ({"path": f"{PATH}/actions/", "limit": 5}, "limit=5"),
        ({"url": f"{PATH}/actions/?limit=1", "search": "sign"}, "limit=1&search=sign"),
        ({"path": f"{PATH}/actions/", "params": "limit=1"}, "limit=1"),
        ({"path": f"{PATH}/actions/", "params": '{"limit": 1}'}, "limit=1"),
    ],
    ids=str,
)
async def test_a_query_is_accepted_in_every_parameter(shop: PostHogTools, args: Any, requested: str) -> None:
    await shop.run("posthog_get", **args)

    assert shop.requests == [f"GET {PATH}/actions/?{requested}"]


async def test_a_history_is_paged_to_its_end_by_posthogs_next_field(shop: PostHogTools) -> None:
    seen, params = list[int](), {"limit": 4}
    while params:
        result = await shop.structured("posthog_get", path=f"{PATH}/feature_flags/7/activity/", params=params)
        seen += [result["detail"]["version"] for result in result["body"]["results"]]
        params = result.get("nextParams")

    assert seen == list(range(9, 0, -1))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"path": f"{PATH}/nonsense/"}, "PostHog's API has no path"),
        ({"path": f"{PATH}/cohorts/99/"}, "PostHog found nothing at"),
        ({"path": f"{PATH}/actions/", "params": {"offset": "9" * 5_000}}, "`params`: must have 1,500 characters"),
        ({"path": f"{PATH}/actions/", "params": {"offset": 10**400}}, "`params`: has a number that is too large."),
        ({"path": f"{PATH}/actions/", "params": "[" * 9_000}, "`params`: must be an object."),
        ({"path": f"{PATH}/actions/?{'a=1&' * 60}"}, "must be 50 at most."),
        ({"path": f"{PATH}/actions/", "method": "POST"}, "There is no parameter `method`"),
    ],
    ids=lambda value: str(value)[:60],
)
async def test_an_invalid_path_is_refused_with_the_reason(shop: PostHogTools, args: Any, text: str) -> None:
    assert text in await shop.text("posthog_get", **args)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count() FROM events",
        "```sql\nSELECT count() FROM events\n```",
        {"kind": "HogQLQuery", "query": "SELECT count() FROM events"},
        '{"kind": "HogQLQuery", "query": "SELECT count() FROM events"}',
    ],
    ids=str,
)
async def test_a_wrapped_query_is_unwrapped(shop: PostHogTools, query: object) -> None:
    assert (await shop.structured("posthog_query", query=query, kind="HogQLQuery"))["rows"] == [[69]]


async def test_a_column_named_limit_is_not_a_limit(shop: PostHogTools) -> None:
    result = await shop.structured("posthog_query", query="SELECT properties.limit FROM events", limit=3)

    assert (result["returned"], result["hasMore"]) == (3, True)
    assert "There are more rows: these are the first 3." in result["notes"][0]


async def test_an_insight_is_found_by_link_and_not_by_name(shop: PostHogTools) -> None:
    link = f"https://us.posthog.com/project/{SHOP}/insights/AaVQ8Ijw"

    assert (await shop.structured("posthog_get_insight", insightId=link))["insight"]["id"] == "21"
    assert "`posthog_list_insights` with `search`" in await shop.text("posthog_get_insight", id="Checkout funnel")

from collections.abc import Iterator
from typing import Any

import pytest

from demo.oauth_provider.server import Fault, OAuthProvider
from demo.services.posthog.data import ADA, BLOG, NOW, SHOP
from demo.services.posthog.fake import ApiKey
from tests.harness import Plugboard
from tests.toolkits.posthog.connected_posthog import EU, US, PostHog, connected_posthog

FLAGS = f"GET /api/projects/{SHOP}/feature_flags/"


@pytest.fixture
def posthog(plugboard: Plugboard, provider: OAuthProvider) -> Iterator[PostHog]:
    with connected_posthog(plugboard, provider) as service:
        yield service


def many(posthog: PostHog, place: str, number: int, **more: Any) -> None:
    """So many of the first of its kind."""
    first = posthog.fake.objects[place][0]
    posthog.fake.objects[place] = [{**first, "id": number, **more} for number in range(1, number + 1)]


@pytest.mark.parametrize(
    ("tool", "place"),
    [
        ("posthog_list_feature_flags", "feature_flags"),
        ("posthog_list_insights", "insights"),
        ("posthog_list_dashboards", "dashboards"),
        ("posthog_list_annotations", "annotations"),
        ("posthog_list_experiments", "experiments"),
        ("posthog_list_persons", "persons"),
        ("posthog_list_cohorts", "cohorts"),
        ("posthog_list_surveys", "surveys"),
        ("posthog_list_event_definitions", "event_definitions"),
        ("posthog_list_property_definitions", "property_definitions"),
    ],
)
def test_paging_lists_every_object_once(posthog: PostHog, tool: str, place: str) -> None:
    many(posthog, place, 23)
    pages = [page["results"] for page in posthog.pages(tool, limit=10)]

    assert [len(page_) for page_ in pages] == [10, 10, 3]
    assert [one["id"] for page_ in pages for one in page_] == [str(number) for number in range(1, 24)]


def test_a_page_without_room_for_every_object_leads_to_the_others(posthog: PostHog) -> None:
    many(posthog, "annotations", 60, content="x" * 2_900)
    pages = [page["results"] for page in posthog.pages("posthog_list_annotations", limit=40)]

    assert len(pages) > 2
    assert [one["id"] for page_ in pages for one in page_] == [str(number) for number in range(1, 61)]
    assert len(posthog.play("posthog_list_annotations", limit=40)) < 50_000


def test_events_continue_at_their_position_despite_new_events(posthog: PostHog) -> None:
    first = posthog.tools.result("posthog_list_events", limit=20)
    newest = {**posthog.fake.events[0], "uuid": "new", "timestamp": NOW.isoformat()}
    posthog.fake.events.insert(0, newest)
    second = posthog.tools.result("posthog_list_events", limit=20, cursor=first["nextCursor"])
    shown = [item["id"] for item in [*first["results"], *second["results"]]]

    assert shown == [event["uuid"] for event in posthog.fake.events[1:41]]


def test_events_of_one_moment_are_each_listed_once(posthog: PostHog) -> None:
    moment = posthog.fake.events[2]["timestamp"]
    for number, event in enumerate(posthog.fake.events[2:20]):
        event |= {"timestamp": moment, "uuid": f"{99 - number}"}
    posthog.fake.polls = 0
    pages = posthog.pages("posthog_list_events", limit=5, going_on="cursor")

    assert [one["id"] for page_ in pages for one in page_["results"]] == [
        event["uuid"] for event in posthog.fake.events
    ]


def test_events_can_be_skipped_by_offset(posthog: PostHog) -> None:
    result = posthog.tools.result("posthog_list_events", limit=2, offset=3)

    assert [result["id"] for result in result["results"]] == [event["uuid"] for event in posthog.fake.events[3:5]]


def test_structured_content_agrees_with_the_text(posthog: PostHog) -> None:
    assert posthog.tools.result("posthog_query", query="SELECT event, count() AS n FROM events GROUP BY event") == {
        "projectId": str(SHOP),
        "notes": [],
        "columns": ["event", "n"],
        "rows": [["$pageview", 56], ["order paid", 7], ["user signed up", 6]],
        "returned": 3,
        "hasMore": False,
    }


@pytest.mark.parametrize(("limit", "has_more"), [(68, True), (69, False), (70, False)])
def test_omitted_rows_are_always_reported(posthog: PostHog, limit: int, has_more: bool) -> None:
    result = posthog.tools.result("posthog_query", query="SELECT uuid FROM events", limit=limit)

    assert (result["returned"], result["hasMore"]) == (min(limit, 69), has_more)
    assert bool(result["notes"]) is has_more


def test_a_result_at_the_limit_of_the_query_is_reported_as_possibly_incomplete(posthog: PostHog) -> None:
    all_of_them = posthog.tools.result("posthog_query", query="SELECT uuid FROM events LIMIT 500")
    some = posthog.tools.result("posthog_query", query="SELECT uuid FROM events LIMIT 5", limit=2)

    assert (all_of_them["returned"], all_of_them["hasMore"], all_of_them["notes"]) == (69, False, [])
    assert (some["returned"], "hasMore" in some) == (5, False)
    assert "may have cut rows" in some["notes"][0]


def test_an_insight_that_takes_too_long_is_returned_without_its_result(posthog: PostHog) -> None:
    posthog.fake.polls = 9
    posthog.tools.change(timeoutSeconds=1)
    result = posthog.tools.result("posthog_get_insight", insightId=21)

    assert "result" not in result
    assert 'queryId "q0001"' in result["notes"][0]


def test_a_cached_result_is_marked_and_can_be_refreshed(posthog: PostHog) -> None:
    posthog.fake.cached_at = "2026-11-17T06:00:00Z"
    query = "SELECT count() FROM events"
    old = posthog.tools.result("posthog_query", query=query)
    new = posthog.tools.result("posthog_query", query=query, fresh=True)

    assert old["notes"] == ["As of 2026-11-17 06:00 UTC; `fresh: true` computes it again."]
    assert new["notes"] == []


def test_a_key_for_one_project_needs_no_project_parameter(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_posthog(plugboard, provider, config={"apiKey": "phx_blog"}) as posthog:
        posthog.fake.keys["phx_blog"] = ApiKey(teams=(BLOG,))

        assert posthog.tools.result("posthog_list_projects")["projects"][0]["name"] == "Acme Blog"
        assert posthog.tools.result("posthog_list_feature_flags")["projectId"] == str(BLOG)
        assert "GET /api/users/@me/" not in posthog.requests()[-2:]


def test_without_the_scope_to_list_projects_the_current_one_is_returned(posthog: PostHog) -> None:
    posthog.fake.keys["phx_demo"] = ApiKey(scopes=("feature_flag:read",))
    result = posthog.tools.result("posthog_list_projects")

    assert [project["name"] for project in result["projects"]] == ["Acme Shop"]
    assert "`organization:read`" in result["notes"][0]


def test_the_first_of_many_projects_are_listed_and_any_is_found(posthog: PostHog) -> None:
    posthog.fake.projects += [{**posthog.fake.projects[1], "id": number, "name": f"P{number}"} for number in range(130)]
    result = posthog.tools.result("posthog_list_projects")

    assert len(result["projects"]) == 100
    assert result["notes"] == ["These are the first 100 of 132: use `search` to find others."]
    assert posthog.tools.result("posthog_list_projects", search="p129")["projects"][0]["id"] == "129"


def test_a_link_identifies_an_object_and_its_project(posthog: PostHog) -> None:
    result = posthog.tools.result("posthog_get_feature_flag", url=f"{US}/project/{SHOP}/feature_flags/7?tab=overview")

    assert result["featureFlag"]["key"] == "new-checkout"
    assert posthog.requests() == [f"{FLAGS}7/"]


def test_a_project_parameter_takes_precedence_over_a_link(posthog: PostHog) -> None:
    link = f"{US}/project/{SHOP}/feature_flags/7"
    failed = posthog.tools.failure("posthog_get_feature_flag", "upstream_refused", id=link, project_id=BLOG)

    assert f"Project {BLOG} has no feature flag 7" in failed["text"]


def test_a_person_is_found_by_every_identifier(posthog: PostHog) -> None:
    names = (ADA, "501", "ada@globex.example", "anon-501", f"{US}/project/{SHOP}/person/ada%40globex.example")
    results = [posthog.tools.result("posthog_get_person", personId=name)["person"]["uuid"] for name in names]

    assert results == [ADA] * 5


def test_a_distinct_id_that_looks_like_a_person_id_is_found(posthog: PostHog) -> None:
    device = "019a5c1e-0000-7000-8000-00000000abcd"
    posthog.fake.objects["persons"][1]["distinct_ids"].append(device)

    assert posthog.tools.result("posthog_get_person", personId=device)["person"]["id"] == "502"


def test_no_tool_shows_the_secrets_of_a_project(posthog: PostHog) -> None:
    notes = [
        posthog.play("posthog_get_project", full=True),
        posthog.play("posthog_get", path=f"/api/projects/{SHOP}/"),
        posthog.play("posthog_list_projects"),
    ]

    assert all("phs_canary" not in note for note in notes)
    assert "phc_acmeshop" in notes[1]


@pytest.mark.parametrize(
    ("path", "requested"),
    [
        ("/api/projects/1/actions", "/api/projects/1/actions/"),
        ("api/projects/1/actions/", "/api/projects/1/actions/"),
        ("https://eu.posthog.com/api/projects/1/actions/", "/api/projects/1/actions/"),
        ("/api/organizations/@current/members/", "/api/organizations/@current/members/"),
        ("/api/projects/1/event definitions/", "/api/projects/1/event definitions/"),
    ],
)
def test_any_api_path_is_requested_from_the_posthog_of_this_server(
    plugboard: Plugboard, provider: OAuthProvider, path: str, requested: str
) -> None:
    with connected_posthog(plugboard, provider, strict=False) as posthog:
        posthog.play("posthog_get", path=path)

        assert posthog.requests() == [f"GET {requested}"]


@pytest.mark.parametrize(
    "path",
    [
        "/admin/",
        "/api",
        "//evil.example/api/x/",
        "/api/../login/",
        "/api/a%2f..%2fb/",
        "/api/a\\b/",
        "/x?/api/",
        "/api//a/",
    ],
)
def test_a_path_outside_the_api_is_not_requested(posthog: PostHog, path: str) -> None:
    posthog.tools.failure("posthog_get", "invalid_arguments", path=path)

    assert posthog.requests() == []


def test_list_parameters_repeat_their_name_in_a_query(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_posthog(plugboard, provider, strict=False) as posthog:
        path = f"/api/projects/{SHOP}/actions/?limit=5"
        posthog.play("posthog_get", path=path, params={"tags": ["a", "b"], "basic": True})

        assert posthog.tenant.requests_to("api")[-1].query == {"limit": "5", "tags": "b", "basic": "true"}


def test_any_path_is_paged_to_its_end(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_posthog(plugboard, provider, strict=False) as posthog:
        many(posthog, "actions", 30, note="x" * 3_000)
        seen, params = list[int](), {"limit": 20}
        while params:
            result = posthog.tools.result("posthog_get", path=f"/api/projects/{SHOP}/actions/", params=params)
            seen += [result["id"] for result in result["body"]["results"]]
            params = result.get("nextParams", {})

        assert seen == list(range(1, 31))


def test_a_short_rate_limit_is_waited_out(posthog: PostHog) -> None:
    posthog.fake.rate_limit(0, times=2)
    posthog.tools.result("posthog_list_feature_flags", projectId=SHOP)

    assert posthog.requests() == [FLAGS] * 3


def test_a_temporary_failure_is_retried(posthog: PostHog) -> None:
    posthog.fake.polls = 0
    for fault in (Fault("down"), Fault("close")):
        posthog.tenant.inject_fault("api", fault)
        posthog.tools.result("posthog_query", query="SELECT 1", projectId=SHOP)


def test_a_query_that_is_too_expensive_is_not_retried(posthog: PostHog) -> None:
    posthog.fake.inject_failure(504, "server_error", "Query has hit the max execution time before completing.")
    posthog.tools.failure("posthog_query", "upstream_refused", query="SELECT 1", projectId=SHOP)

    assert len(posthog.requests()) == 1


def test_tools_of_two_posthog_servers_with_one_name_stay_distinct(posthog: PostHog) -> None:
    other = posthog.tools.another("posthog", **{**PostHog.fields, "url": EU})
    posthog.tools.enable(posthog.tools, other)
    names = posthog.tools.list_tools().keys()

    assert len(names) == 44
    assert posthog.tools.result("posthog_list_cohorts") == other.result("posthog_list_cohorts")
    posthog.tools.enable(other)
    assert other.list_tools().keys() == {name for name in names if name.endswith(f"_{other.slug}")}

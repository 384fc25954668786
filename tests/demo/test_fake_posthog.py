import json
import threading

import pytest

from demo.oauth_provider.http import Request, Response
from demo.oauth_provider.tenant import Tenant
from demo.services.posthog.data import BLOG, SHOP
from demo.services.posthog.fake import ApiKey, FakePostHog

PROJECT = f"/api/projects/{SHOP}"


@pytest.fixture
def world() -> FakePostHog:
    return FakePostHog(Tenant("posthog", "http://127.0.0.1", threading.RLock()))


def request(
    world: FakePostHog,
    path: str,
    query: str = "",
    *,
    key: str | None = "phx_demo",
    method: str = "GET",
    body: object = None,
) -> Response:
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    sent = b"" if body is None else json.dumps(body).encode()
    return world.respond(Request(method, path, query, headers, sent))


def query(world: FakePostHog, text: str, **values: object) -> dict[str, object]:
    world.polls = 0
    query = {"kind": "HogQLQuery", "query": text, "values": values}
    body: dict[str, object] = json.loads(request(world, f"{PROJECT}/query/", method="POST", body={"query": query}).body)
    return body


@pytest.mark.parametrize(
    ("path", "query", "key", "status", "code"),
    [
        (f"{PROJECT}/cohorts/", "", None, 401, "authentication_failed"),
        (f"{PROJECT}/cohorts/", "", "phc_1", 401, "authentication_failed"),
        (f"{PROJECT}/cohorts/", "", "phx_blog", 403, "permission_denied"),
        (f"/api/projects/{BLOG}/cohorts/", "", "phx_blog", 403, "permission_denied"),
        (f"{PROJECT}/nonsense/", "", "phx_blog", 404, "not_found"),
        (f"{PROJECT}/feature_flags/7/nonsense/", "", "phx_all", 404, "not_found"),
        ("/api/projects/99/cohorts/", "", "phx_demo", 404, "not_found"),
        (f"{PROJECT}/cohorts/99/", "", "phx_demo", 404, "not_found"),
        (f"{PROJECT}/cohorts/", "colour=red", "phx_demo", 400, "invalid_input"),
        (f"{PROJECT}/cohorts/", f"search={'x' * 201}", "phx_demo", 400, "invalid_input"),
        ("/api/organizations/@current/projects/", "", "phx_blog", 403, "permission_denied"),
    ],
)
def test_requests_that_posthog_would_refuse_are_refused(
    world: FakePostHog, path: str, query: str, key: str | None, status: int, code: str
) -> None:
    world.keys |= {"phx_blog": ApiKey(scopes=("organization:read",), teams=(BLOG,)), "phx_all": ApiKey()}
    response = request(world, path, query, key=key)

    assert (response.status, json.loads(response.body)["code"]) == (status, code)


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "PUT"])
def test_a_write_is_detected(world: FakePostHog, method: str) -> None:
    assert request(world, f"{PROJECT}/feature_flags/7/", method=method, body={}).status == 405
    assert world.writes == [f"{method} {PROJECT}/feature_flags/7/"]


def test_a_path_without_a_trailing_slash_is_redirected(world: FakePostHog) -> None:
    assert request(world, f"{PROJECT}/cohorts").status == 301


def test_the_hogql_of_the_tour_is_supported(world: FakePostHog) -> None:
    rows = query(
        world,
        "SELECT person.properties.plan AS plan, uniq(person_id) AS persons, toDate(max(timestamp)) FROM events "
        "WHERE event = {name} AND timestamp > now() - INTERVAL 7 DAY GROUP BY plan ORDER BY persons DESC",
        name="$pageview",
    )

    assert rows["results"] == [["pro", 2, "2026-11-17"], ["free", 1, "2026-11-17"]]


def test_a_column_is_named_as_written(world: FakePostHog) -> None:
    rows = query(world, "SELECT properties.$browser, person.properties.plan, event AS name FROM events")

    assert rows["columns"] == ["properties.$browser", "person.properties.plan", "name"]


def test_rows_are_limited_to_a_hundred_by_default(world: FakePostHog) -> None:
    world.events *= 2
    rows = query(world, "SELECT uuid FROM events")

    assert (len(rows["results"]), rows["hasMore"], rows["limit"]) == (100, True, 100)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("SELECT uuid FROM events LIMIT 5 OFFSET 5", "OFFSET is not supported"),
        ("SELECT colour FROM events", "Unable to resolve field: colour"),
        ("SELECT uuid FROM clicks", "Unknown table `clicks`."),
        ("SELECT FROM", "Syntax error"),
        ("DELETE FROM events", "Syntax error"),
    ],
)
def test_hogql_that_posthog_would_refuse_is_refused(world: FakePostHog, text: str, detail: str) -> None:
    assert str(query(world, text)["detail"]).startswith(detail)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("key=New-Checkout", ["new-checkout"]),
        ("search=checkout", ["checkout-copy"]),
        ("archived=true", ["new-checkout"]),
        ("active=STALE", ["team-plans"]),
    ],
)
def test_an_archived_flag_is_found_only_by_its_key(world: FakePostHog, query: str, keys: list[str]) -> None:
    world.objects["feature_flags"][0]["archived"] = True
    body = json.loads(request(world, f"{PROJECT}/feature_flags/", query).body)["results"]

    assert [item["key"] for item in body] == keys


def test_a_search_without_hits_returns_similar_objects(world: FakePostHog) -> None:
    def marks(place: str, word: str) -> list[str | None]:
        body = json.loads(request(world, f"{PROJECT}/{place}/", f"search={word}").body)["results"]
        return [item.get("search_match_type") for item in body]

    assert marks("insights", "funnel") == ["exact"]
    assert marks("insights", "funel") == ["similar"]
    assert marks("cohorts", "payng") == [None]
    assert marks("annotations", "relese") == []


def test_any_value_of_the_favorites_parameter_filters(world: FakePostHog) -> None:
    body = json.loads(request(world, f"{PROJECT}/insights/", "favorited=false").body)["results"]

    assert [item["id"] for item in body] == [21]


@pytest.mark.parametrize(
    ("after", "number"), [("-2m", 69), ("-400M", 2), ("-60s", 0), ("2026-11-17T11:30:00", 1), ("dStart", 5)]
)
def test_only_times_that_posthog_parses_are_accepted(world: FakePostHog, after: str, number: int) -> None:
    world.polls = 0
    query = {"kind": "EventsQuery", "select": ["timestamp"], "after": after}
    body = json.loads(request(world, f"{PROJECT}/query/", method="POST", body={"query": query}).body)["results"]

    assert len(body) == number
    assert all(item[0].endswith("+01:00") for item in body)


def test_a_history_is_paged(world: FakePostHog) -> None:
    body = json.loads(request(world, f"{PROJECT}/feature_flags/7/activity/", "limit=4&page=2&offset=1").body)

    assert [result["detail"]["version"] for result in body["results"]] == [5, 4, 3, 2]
    assert body["next"].endswith("?page=3&limit=4")


@pytest.mark.parametrize(("cohort", "people"), [(41, 4), (42, 1)])
def test_the_members_of_a_cohort_can_be_queried(world: FakePostHog, cohort: int, people: int) -> None:
    rows = query(world, f"SELECT id FROM persons WHERE id IN COHORT {cohort}")  # noqa: S608  a number of ours

    assert len(rows["results"]) == people  # type: ignore[arg-type]


def test_sign_ups_of_this_week_can_be_counted_by_plan(world: FakePostHog) -> None:
    rows = query(
        world,
        "SELECT properties.plan AS plan, count() AS signups FROM events "
        "WHERE event = {name} AND timestamp > now() - INTERVAL 7 DAY GROUP BY plan ORDER BY signups DESC, plan",
        name="user signed up",
    )

    assert rows["results"] == [["free", 3], ["pro", 2], ["team", 1]]


@pytest.mark.parametrize(
    ("week", "weeks"),
    [
        ("toStartOfWeek(timestamp)", ["2026-11-08", "2026-11-15"]),
        ("toStartOfWeek(timestamp, 1)", ["2026-11-09", "2026-11-16"]),
    ],
)
def test_events_can_be_counted_by_week(world: FakePostHog, week: str, weeks: list[str]) -> None:
    rows = query(world, f"SELECT {week} AS week, count() FROM events GROUP BY week ORDER BY week")  # noqa: S608  ours

    assert [row[0] for row in rows["results"]] == weeks  # type: ignore[attr-defined]

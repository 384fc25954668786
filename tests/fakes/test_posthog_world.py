import json
import threading

import pytest

from tests.fakes.authorization_tenant import Tenant
from tests.fakes.authorization_wire import Answer, Request
from tests.fakes.posthog_world import Key, World
from tests.fakes.posthog_world_data import BLOG, SHOP

PROJECT = f"/api/projects/{SHOP}"


@pytest.fixture
def world() -> World:
    return World(Tenant("posthog", "http://127.0.0.1", threading.RLock()))


def asked(
    world: World, path: str, query: str = "", *, key: str | None = "phx_demo", method: str = "GET", body: object = None
) -> Answer:
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    sent = b"" if body is None else json.dumps(body).encode()
    return world.answer(Request(method, path, query, headers, sent))


def said(world: World, text: str, **values: object) -> dict[str, object]:
    world.looks = 0
    query = {"kind": "HogQLQuery", "query": text, "values": values}
    found: dict[str, object] = json.loads(asked(world, f"{PROJECT}/query/", method="POST", body={"query": query}).body)
    return found


@pytest.mark.parametrize(
    ("path", "query", "key", "status", "code"),
    [
        (f"{PROJECT}/cohorts/", "", None, 401, "authentication_failed"),
        (f"{PROJECT}/cohorts/", "", "phc_1", 401, "authentication_failed"),
        (f"{PROJECT}/cohorts/", "", "phx_blog", 403, "permission_denied"),
        (f"/api/projects/{BLOG}/cohorts/", "", "phx_blog", 403, "permission_denied"),
        (f"{PROJECT}/nonsense/", "", "phx_all", 403, "permission_denied"),
        ("/api/projects/99/cohorts/", "", "phx_demo", 404, "not_found"),
        (f"{PROJECT}/cohorts/99/", "", "phx_demo", 404, "not_found"),
        (f"{PROJECT}/cohorts/", "colour=red", "phx_demo", 400, "invalid_input"),
        (f"{PROJECT}/cohorts/", f"search={'x' * 201}", "phx_demo", 400, "invalid_input"),
        ("/api/organizations/@current/projects/", "", "phx_blog", 403, "permission_denied"),
    ],
)
def test_what_posthog_would_refuse_is_refused(
    world: World, path: str, query: str, key: str | None, status: int, code: str
) -> None:
    world.keys |= {"phx_blog": Key(scopes=("organization:read",), teams=(BLOG,)), "phx_all": Key()}
    answer = asked(world, path, query, key=key)

    assert (answer.status, json.loads(answer.body)["code"]) == (status, code)


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "PUT"])
def test_what_is_no_read_is_noticed(world: World, method: str) -> None:
    assert asked(world, f"{PROJECT}/feature_flags/7/", method=method, body={}).status == 405
    assert world.writes == [f"{method} {PROJECT}/feature_flags/7/"]


def test_a_path_without_its_slash_leads_elsewhere(world: World) -> None:
    assert asked(world, f"{PROJECT}/cohorts").status == 301


def test_hogql_is_answered_as_far_as_a_tour_needs_it(world: World) -> None:
    found = said(
        world,
        "SELECT person.properties.plan AS plan, uniq(person_id) AS persons, toDate(max(timestamp)) FROM events "
        "WHERE event = {name} AND timestamp > now() - INTERVAL 7 DAY GROUP BY plan ORDER BY persons DESC",
        name="$pageview",
    )

    assert found["results"] == [["pro", 2, "2026-11-17"], ["free", 1, "2026-11-17"]]


def test_rows_are_cut_at_a_hundred_where_nobody_says_how_many(world: World) -> None:
    world.events *= 2
    found = said(world, "SELECT uuid FROM events")

    assert (len(found["results"]), found["hasMore"], found["limit"]) == (100, True, 100)  # type: ignore[arg-type]


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
def test_hogql_that_posthog_would_not_take_is_refused(world: World, text: str, detail: str) -> None:
    assert str(said(world, text)["detail"]).startswith(detail)

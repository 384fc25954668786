"""What is asked of PostHog's tools for a person to read, and what is in their way?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.posthog_world import Key
from tests.fakes.posthog_world_data import ADA, BLOG, SHOP, SURVEY, events, objects
from tests.toolkits.contract import Json
from tests.toolkits.posthog_desk import KEY, PostHog
from tests.toolkits.scenes import Ask, Case, Scene, Texts, many, runs_counted

Ways = tuple[Json, ...]
LONG = "x" * 60_000
APP = f"https://us.posthog.com/project/{SHOP}"
PATH = f"/api/projects/{SHOP}"
ALONE = ("posthog_list_projects", "posthog_get")
"""They are of no project."""


def at_once(posthog: PostHog) -> None:
    """Queries are answered without a wait: one of them that is waited for is enough."""
    posthog.world.looks = 0


def in_a_while(posthog: PostHog) -> None:
    posthog.world.looks = 1


def without_queries(posthog: PostHog) -> None:
    posthog.world.keys[KEY] = Key(scopes=("insight:read", "survey:read", "user:read"))


def outlasting(posthog: PostHog) -> None:
    posthog.world.looks = 4
    posthog.desk.change(timeoutSeconds=1)


def patient(posthog: PostHog) -> None:
    posthog.desk.change(timeoutSeconds=30)


def furnished_anew(posthog: PostHog) -> None:
    """With enough of each kind for a page and another one."""
    posthog.world.events = events()
    posthog.world.objects = {place: found * 2 if len(found) == 1 else found for place, found in objects().items()}


def enlarged(posthog: PostHog) -> None:
    """With texts that nobody wants whole."""
    world = posthog.world
    for each in [*(one for kind in world.objects.values() for one in kind), *world.projects]:
        each |= {"description": LONG, "filters": {**(each.get("filters") or {}), "more": [LONG] * 5}}
        each |= {"properties": {**(each.get("properties") or {}), "bio": LONG}, "notes": [{"text": LONG}] * 5}
    for event in world.events:
        event["properties"] = f'{{"bio": "{LONG}", "$pathname": "/"}}'


def case(
    tool: str,
    happy: Json,
    more: Ways,
    wrong: Ways,
    empty: Json,
    huge: Json | None = None,
    page: Json | None = None,
    besides: Mapping[str, Json | Ask] | None = None,
    **also: Any,
) -> Case:
    asks: dict[str, Json | Ask] = {Scene.MEANT: happy, **many(Scene.OTHERWISE, *more), **many(Scene.WRONG, *wrong)}
    asks |= {Scene.EMPTY: Ask(empty, at_once), Scene.HUGE: Ask(huge or happy, enlarged, runs_counted)}
    if more:
        asks[f"{Scene.OTHERWISE}, 1"] = Ask(more[0], at_once)
    if wrong:
        asks[f"{Scene.WRONG}, 1"] = Ask(wrong[0], in_a_while)
    usual = happy if tool in ALONE else {"projectId": SHOP, **happy}
    if page is not None:
        asks[Scene.PAGE] = Ask(page, furnished_anew, to_the_end=True)
    return Case(tool, {**asks, **(besides or {})}, usual=usual, **also)


def listing(name: str, *more: Json, wrong: Ways = (), happy: Json | None = None) -> Case:
    usual: Ways = (
        {"limit": 0},
        {"limit": 101},
        {"offset": 20_000},
        {"projectId": "shop"},
        {"sort": "name"},
    )
    empty, page = {"projectId": BLOG}, {"limit": 1}
    return case(f"posthog_list_{name}", happy or {"limit": 2}, more, (*usual, *wrong), empty, {"full": True}, page)


def reading(
    one: str,
    name: str,
    one_of_them: object,
    *more: Json,
    missing: object = 999,
    **also: Any,
) -> Case:
    wrong: Ways = ({}, {name: ""}, {name: "what ever"}, {name: one_of_them, "projectId": 1.5})
    return case(
        f"posthog_get_{one}",
        {name: one_of_them},
        (*more, {name: one_of_them, "full": True}),
        wrong,
        {name: missing},
        {name: one_of_them},
        **also,
    )


QUERY = "SELECT event, count() AS n FROM events GROUP BY event ORDER BY n DESC"
CASES = (
    case(
        "posthog_list_projects",
        {},
        ({"search": "blog"},),
        ({"limit": 5}, {"search": "x" * 201}),
        {"search": "nothing like it"},
    ),
    case(
        "posthog_get_project",
        {},
        ({"id": BLOG}, {"project": f"{APP}/insights"}, {"full": True}),
        ({"projectId": "shop"},),
        {"projectId": 999},
        {"full": True},
    ),
    case(
        "posthog_query",
        {"query": QUERY},
        (
            {"sql": "SELECT uuid, timestamp FROM events ORDER BY timestamp DESC -- the last ones", "limit": "3"},
            {"query": "SELECT distinct_id FROM events ORDER BY timestamp LIMIT 2;"},
            {
                "query": "SELECT properties.plan AS plan, uniq(person_id) AS persons FROM events "
                "WHERE event = {name} AND timestamp > now() - INTERVAL 3 DAY GROUP BY plan",
                "values": {"name": "order paid"},
                "fresh": True,
            },
            {"query": "SELECT event FROM events UNION ALL SELECT id FROM persons", "limit": 1},
        ),
        (
            {},
            {"query": "DELETE FROM events"},
            {"query": "SELECT 1; SELECT 2"},
            {"query": "SELECT 'a"},
            {"query": "SELECT 1", "queryId": "q0001"},
            {"query": "SELECT 1", "limit": 20_000},
            {"query": "SELECT colour FROM events"},
            {"query": "SELECT event FROM clicks"},
            {"query": "SELECT event FROM events LIMIT 5 OFFSET 5"},
            {"queryId": "q9999"},
        ),
        {"query": "SELECT event FROM events WHERE event = 'no such event'"},
        {"query": "SELECT uuid, properties FROM events", "limit": 1000},
        besides={
            f"{Scene.SLOW}: it takes long": Ask({"query": "SELECT event FROM events LIMIT 3"}, outlasting),
            f"{Scene.SLOW}: later": Ask({"queryId": "q0005"}, patient),
        },
    ),
    case(
        "posthog_list_events",
        {"limit": 2},
        (
            {"event": "order paid", "since": "2026-11-15", "until": "2026-11-17T00:00:00Z"},
            {"personId": f"{APP}/persons/{ADA}", "after": "12h"},
            {"distinct_id": "o'neil\\@example.com", "after": "all"},
            {"limit": 1, "full": True},
        ),
        ({"limit": 0}, {"after": "yesterday"}, {"cursor": "next"}, {"order": "asc"}),
        {"event": "no such event", "after": "-30d"},
        {"limit": 100, "full": True},
        {"event": "order paid", "limit": 3},
        going_on=lambda cursor: {"cursor": cursor},
    ),
    listing("event_definitions", {"search": "paid"}, {"limit": 1, "full": True}),
    listing("property_definitions", {"eventName": "order paid", "is_numerical": True}, {"type": "person"}),
    listing("insights", {"search": "funnel"}, {"type": "sql"}, {"favorited": True, "saved": True, "limit": 1}),
    reading(
        "insight",
        "insightId",
        "AaVQ8Ijw",
        {"id": 22},
        {"insight_id": f"{APP}/insights/cC4retnt"},
        {"insightId": 24, "fresh": True},
        {"insightId": 21, "results": False},
        besides={
            f"{Scene.RIGHTS}: with results": Ask({"insightId": 21}, without_queries),
            f"{Scene.RIGHTS}: without": {"insightId": 21, "results": False},
        },
    ),
    listing("dashboards", {"name": "kpi"}),
    reading("dashboard", "dashboardId", 31, {"url": f"{APP}/dashboard/31"}),
    listing("annotations", {"search": "release"}),
    listing(
        "feature_flags",
        {"search": "checkout", "active": True},
        {"tags": ["experiment"], "type": "multivariant"},
        {"archived": "true"},
        wrong=({"active": "maybe"}, {"type": "many"}),
    ),
    reading(
        "feature_flag",
        "featureFlagId",
        7,
        {"key": "checkout-copy"},
        {"flag": f"{APP}/feature_flags/9#panel"},
        {"id": "no-such-flag"},
    ),
    listing("experiments", {"status": "draft"}, wrong=({"status": "finished"},)),
    reading("experiment", "experimentId", 61, {"id": "61", "results": True}, {"id": 62, "results": True}),
    listing("persons", {"search": "ada"}, {"email": "grace@umbra.example"}, {"distinctId": "anon-503"}),
    reading("person", "personId", ADA, {"email": "grace@umbra.example"}, {"id": 503}, {"distinct_id": "anon-503"}),
    listing("cohorts", {"search": "paying"}),
    reading("cohort", "cohortId", 41, {"url": f"{APP}/cohorts/42"}),
    listing("surveys", {"status": "running"}, {"status": "draft"}),
    reading("survey", "surveyId", SURVEY, {"id": SURVEY, "stats": False}, missing=SURVEY.replace("018f", "018e")),
    case(
        "posthog_get",
        {"path": f"{PATH}/actions/"},
        (
            {"path": f"https://us.posthog.com{PATH}/feature_flags?limit=1"},
            {"url": f"{PATH}/feature_flags/", "params": {"limit": 1, "offset": 2}},
            {"path": PATH},
        ),
        (
            {},
            {"path": "/decide/"},
            {"path": "/api/../admin/"},
            {"path": "/api/%2e%2e/admin/"},
            {"path": f"{PATH}/actions/", "method": "POST"},
        ),
        {"path": f"{PATH}/no_such_thing/"},
        {"path": f"{PATH}/feature_flags/7/"},
        {"path": f"{PATH}/feature_flags/", "params": {"limit": 2}},
        going_on=lambda cursor: {"params": {"limit": 2, "offset": cursor}},
        strict=False,
    ),
)


def keyed(key: Key) -> Callable[[PostHog, str], None]:
    return lambda posthog, _: posthog.world.keys.update({KEY: key})


TEXTS = Texts(
    PostHog,
    CASES,
    troubles={
        Scene.RIGHTS: keyed(Key(scopes=("user:read",))),
        f"{Scene.RIGHTS}: a project that the key is not for": keyed(Key(teams=(BLOG,))),
        Scene.BUSY: lambda posthog, _: posthog.world.limit(60),
    },
    ended="the key is no good any more",
)

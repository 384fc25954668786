"""The calls and failures of PostHog's tools whose texts are approved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from demo.services.posthog.data import ADA, BLOG, SHOP, SURVEY, events, objects
from demo.services.posthog.fake import SCOPES, ApiKey
from tests.toolkits.contract import Json
from tests.toolkits.posthog.connected_posthog import KEY, PostHog
from tests.toolkits.scenes import ApprovedTexts, Case, Scene, SceneCall, Setup, numbered, runs_counted

Ways = tuple[Json, ...]
LONG = "x" * 60_000
APP = f"https://us.posthog.com/project/{SHOP}"
PATH = f"/api/projects/{SHOP}"
HISTORY = f"{PATH}/feature_flags/7/activity/"
ALONE = ("posthog_list_projects", "posthog_get")
"""Paths outside of projects."""


FENCED = "```sql\nSELECT uniq(distinct_id) AS visitors FROM events\n```"
SIGNUPS = (
    "SELECT properties.plan AS plan, count() AS signups FROM events WHERE event = {name} "
    "AND timestamp > now() - INTERVAL 7 DAY GROUP BY plan ORDER BY signups DESC, plan"
)
TOO_LONG = "Estimated query execution time (94 seconds) is too long. Try reducing its scope by changing the time range."
OLD_METRIC = {"kind": "ExperimentTrendsQuery", "name": "Visits a person"}


def at_once(posthog: PostHog) -> None:
    """Queries are answered without a wait: one of them that is waited for is enough."""
    posthog.fake.polls = 0


def with_slow_query(posthog: PostHog) -> None:
    posthog.fake.polls = 1


def limited(*teams: int) -> Setup:
    return lambda posthog: posthog.fake.keys.update({KEY: ApiKey(teams=teams)})


def without_queries(posthog: PostHog) -> None:
    posthog.fake.keys[KEY] = ApiKey(scopes=tuple(scope for scope in SCOPES if scope != "query:read"))


def with_cached_result(posthog: PostHog) -> None:
    posthog.fake.cached_at = "2026-11-17T06:00:00Z"


def too_heavy(posthog: PostHog) -> None:
    posthog.fake.inject_failure(512, "server_error", TOO_LONG)


def with_an_old_metric(posthog: PostHog) -> None:
    posthog.fake.objects["experiments"][0]["metrics"].insert(0, OLD_METRIC)


def with_conditions(posthog: PostHog) -> None:
    groups = [{"properties": [], "rollout_percentage": number} for number in range(45)]
    posthog.fake.objects["feature_flags"][0]["filters"]["groups"] = groups


def outlasting(posthog: PostHog) -> None:
    posthog.fake.polls = 4
    posthog.tools.change(timeoutSeconds=1)


def patient(posthog: PostHog) -> None:
    posthog.fake.polls = 0
    posthog.tools.change(timeoutSeconds=30)


def with_new_data(posthog: PostHog) -> None:
    """With enough of each kind for a page and another one."""
    posthog.fake.events = events()
    posthog.fake.objects = {place: result * 2 if len(result) == 1 else result for place, result in objects().items()}


def enlarged(posthog: PostHog) -> None:
    """Gives objects very long texts."""
    world = posthog.fake
    world.objects, world.cached_at, world.keys[KEY] = objects(), "", ApiKey()
    for item in [*(one for kind in world.objects.values() for one in kind), *world.projects]:
        item |= {"description": LONG, "filters": {**(item.get("filters") or {}), "more": [LONG] * 5}}
        item |= {"properties": {**(item.get("properties") or {}), "bio": LONG}, "notes": [{"text": LONG}] * 5}
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
    besides: Mapping[str, Json | SceneCall] | None = None,
    **also: Any,
) -> Case:
    asks: dict[str, Json | SceneCall] = {
        Scene.MEANT: happy,
        **numbered(Scene.OTHERWISE, *more),
        **numbered(Scene.WRONG, *wrong),
    }
    asks |= {Scene.EMPTY: SceneCall(empty, at_once), **(besides or {})}
    asks[Scene.HUGE] = SceneCall(huge or happy, enlarged, runs_counted)
    if more:
        asks[f"{Scene.OTHERWISE}, 1"] = SceneCall(more[0], at_once)
    if wrong:
        asks[f"{Scene.WRONG}, 1"] = SceneCall(wrong[0], with_slow_query)
    usual = happy if tool in ALONE else {"projectId": SHOP, **happy}
    if page is not None:
        asks[Scene.PAGE] = SceneCall(page, with_new_data, follow_pages=True)
    return Case(tool, asks, failing_arguments=usual, **also)


def listing(name: str, *more: Json, wrong: Ways = (), **besides: Json) -> Case:
    """`besides`: by what comes after the title of what is asked otherwise."""
    usual: Ways = ({"limit": 0}, {"limit": 101}, {"projectId": "shop"}, {"sort": "name"})
    by_name = {f"{Scene.OTHERWISE}: {title.replace('_', ' ')}": args for title, args in besides.items()}
    return case(
        f"posthog_list_{name}",
        {"limit": 2},
        more,
        (*usual, *wrong),
        {"projectId": BLOG},
        {"full": True},
        {"limit": 1},
        {f"{Scene.EMPTY}: behind the last": {"offset": 20_000}, **by_name},
    )


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
        ({"search": "blog"}, {"limit": 1}),
        ({"limit": 101}, {"search": "x" * 201}),
        {"search": "nothing like it"},
        besides={
            f"{Scene.OTHERWISE}: by a key for a few": SceneCall({}, limited(SHOP, BLOG, 999)),
            f"{Scene.OTHERWISE}: by a key for none that is current": SceneCall({}, limited(BLOG, 999)),
        },
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
            {"query": SIGNUPS, "values": {"name": "user signed up"}},
            {"query": FENCED},
            {"query": "SELECT properties.limit FROM events", "limit": 3},
            {"query": "SELECT count() FROM events WHERE event = 'user_signed_up'"},
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
            f"{Scene.SLOW}: more than PostHog runs": SceneCall({"query": QUERY, "projectId": SHOP}, too_heavy),
            f"{Scene.SLOW}: it takes long": SceneCall({"query": "SELECT event FROM events LIMIT 3"}, outlasting),
            f"{Scene.SLOW}: later": SceneCall({"queryId": "q0005"}, patient),
            f"{Scene.OTHERWISE}: when a result is still there": SceneCall({"query": QUERY}, with_cached_result),
            f"{Scene.OTHERWISE}: anew": {"query": QUERY, "fresh": True},
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
            {"personId": 501, "limit": 2},
            {"before": "2026-11-15", "limit": 1},
            {"after": "yesterday", "limit": 1},
        ),
        (
            {"limit": 0},
            {"after": "30m"},
            {"after": "recently"},
            {"cursor": "next"},
            {"order": "asc"},
            {"event": "Order Paid"},
            {"event": "signup"},
            {"personId": 999},
        ),
        {"event": "no such event", "after": "-30d"},
        {"limit": 100, "full": True},
        {"event": "order paid", "limit": 3},
        next_arguments=lambda cursor: {"cursor": cursor},
    ),
    listing("event_definitions", {"search": "paid"}, {"limit": 1, "full": True}, nearly_right={"search": "signup"}),
    listing(
        "property_definitions",
        {"eventName": "order paid", "is_numerical": True},
        {"type": "person"},
        wrong=({"eventName": "nope"},),
    ),
    listing(
        "insights",
        {"search": "funnel"},
        {"type": "sql"},
        {"favorited": True, "saved": True, "limit": 1},
        {"kind": "TrendsQuery"},
        nearly_right={"search": "funel"},
        by_nothing_that_is_there={"search": "zzzzz"},
    ),
    reading(
        "insight",
        "insightId",
        "AaVQ8Ijw",
        {"id": 22},
        {"insight_id": f"{APP}/insights/cC4retnt"},
        {"insightId": 24, "fresh": True},
        {"insightId": 21, "results": False},
        besides={
            f"{Scene.RIGHTS}: with results": SceneCall({"insightId": 21}, without_queries),
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
        {"key": "team-plans"},
        {"key": "new_checkout"},
        besides={f"{Scene.OTHERWISE}: with many conditions": SceneCall({"id": 7}, with_conditions)},
    ),
    listing("experiments", {"status": "draft"}, {"status": "finished"}, {"flagKey": "checkout-copy"}),
    reading(
        "experiment",
        "experimentId",
        61,
        {"id": "61", "results": True},
        {"id": 62, "results": True},
        {"key": "checkout-copy", "results": True},
        besides={
            f"{Scene.OTHERWISE}: with a metric that fails": SceneCall({"id": 61, "results": True}, with_an_old_metric),
            f"{Scene.RIGHTS}: with results": SceneCall({"key": "checkout-copy", "results": True}, without_queries),
        },
    ),
    listing("persons", {"search": "ada"}, {"email": "grace@umbra.example"}, {"distinctId": "anon-503"}),
    reading("person", "personId", ADA, {"email": "grace@umbra.example"}, {"id": 503}, {"distinct_id": "anon-503"}),
    listing("cohorts", {"search": "paying"}, nearly_right={"search": "payng"}),
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
            {"path": HISTORY, "limit": 4},
            {"path": HISTORY, "params": {"limit": 4, "page": 3}},
        ),
        (
            {},
            {"path": "/decide/"},
            {"path": "/api/projects/{projectId}/feature_flags/7/status/"},
            {"path": "/api/../admin/"},
            {"path": "/api/%2e%2e/admin/"},
            {"path": f"{PATH}/actions/", "method": "POST"},
        ),
        {"path": f"/api/projects/{BLOG}/actions/"},
        {"path": f"{PATH}/feature_flags/7/"},
        besides={
            f"{Scene.EMPTY}: no such path": {"path": f"{PATH}/no_such_thing/"},
            f"{Scene.EMPTY}: no such object": {"path": f"{PATH}/actions/999/"},
            Scene.PAGE: {"path": f"{PATH}/feature_flags/", "params": {"limit": 2}},
            Scene.NEXT: {"path": f"{PATH}/feature_flags/", "params": {"limit": 2, "offset": 2}},
        },
        strict=False,
    ),
)


def keyed(key: ApiKey) -> Callable[[PostHog, str], None]:
    return lambda posthog, _: posthog.fake.keys.update({KEY: key})


TEXTS = ApprovedTexts(
    PostHog,
    CASES,
    failures={
        Scene.RIGHTS: keyed(ApiKey(scopes=("user:read",))),
        f"{Scene.RIGHTS}: a project that the key is not for": keyed(ApiKey(teams=(BLOG,))),
        Scene.BUSY: lambda posthog, _: posthog.fake.rate_limit(60),
    },
    revoked_title="the key is no good any more",
)

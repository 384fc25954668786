"""What a model reads of each of PostHog's tools, whatever comes of it: approved by a person, in snapshots/posthog."""

import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes.authorization_server import Fault, Server
from tests.fakes.posthog_world import Key
from tests.fakes.posthog_world_data import ADA, BLOG, SHOP, SURVEY
from tests.harness import Plugboard
from tests.toolkits.desk import Json
from tests.toolkits.posthog_desk import PostHog, approved, connected_posthog

HUGE = "x" * 60_000
APP = f"https://us.posthog.com/project/{SHOP}"
PATH = f"/api/projects/{SHOP}"


@dataclass(frozen=True)
class Case:
    tool: str
    happy: Json
    more: tuple[Json, ...] = ()
    """Other ways to ask."""
    wrong: tuple[Json, ...] = ()
    empty: Json = field(default_factory=dict)
    huge: Json = field(default_factory=dict)
    """How to ask for more than anybody reads."""

    def __str__(self) -> str:
        return self.tool


def listing(name: str, *more: Json, wrong: tuple[Json, ...] = (), happy: Json | None = None) -> Case:
    usual: tuple[Json, ...] = (
        {"limit": 0},
        {"limit": 101},
        {"offset": 20_000},
        {"projectId": "shop"},
        {"sort": "name"},
    )
    empty = {"projectId": BLOG}
    return Case(f"posthog_list_{name}", happy or {"limit": 2}, more, (*usual, *wrong), empty, {"full": True})


def reading(one: str, name: str, id: object, *more: Json, missing: object = 999) -> Case:  # noqa: A002
    wrong = ({}, {name: ""}, {name: "what ever"}, {name: id, "projectId": 1.5})
    return Case(f"posthog_get_{one}", {name: id}, (*more, {name: id, "full": True}), wrong, {name: missing}, {name: id})


QUERY = "SELECT event, count() AS n FROM events GROUP BY event ORDER BY n DESC"
CASES = [
    Case(
        "posthog_list_projects",
        {},
        ({"search": "blog"},),
        ({"limit": 5}, {"search": "x" * 201}),
        {"search": "nothing like it"},
    ),
    Case(
        "posthog_get_project",
        {},
        ({"id": BLOG}, {"project": f"{APP}/insights"}, {"full": True}),
        ({"projectId": "shop"},),
        {"projectId": 999},
        {"full": True},
    ),
    Case(
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
    ),
    Case(
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
    Case(
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
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_model_reads_when_it_asks_well_or_wrongly(plugboard: Plugboard, provider: Server, case: Case) -> None:
    with connected_posthog(plugboard, provider, strict=case.tool != "posthog_get") as posthog:
        scenes = {"as it is meant": posthog.told(case.tool, **case.happy)}
        scenes |= {f"asked otherwise, {n}": posthog.told(case.tool, **args) for n, args in enumerate(case.more, 1)}
        scenes |= {f"wrong arguments, {n}": posthog.told(case.tool, **args) for n, args in enumerate(case.wrong, 1)}
        scenes["nothing there"] = posthog.told(case.tool, **case.empty)
        scenes["more than anybody reads"] = huge(posthog, case)

    approved(case.tool, scenes)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_model_reads_when_posthog_does_not_give_it(plugboard: Plugboard, provider: Server, case: Case) -> None:
    with connected_posthog(plugboard, provider, strict=False, timeoutSeconds=2) as posthog:
        tenant, world = posthog.tenant, posthog.world
        args = {"projectId": SHOP, **case.happy} if case.tool not in ALONE else case.happy
        world.keys["phx_demo"] = Key(scopes=("user:read",))
        scenes = {"rights are missing": posthog.told(case.tool, **args)}
        world.keys["phx_demo"] = Key(teams=(BLOG,))
        scenes["a project that the key is not for"] = posthog.told(case.tool, **args)
        world.keys["phx_demo"] = Key()
        world.limit(60)
        scenes["too many requests"] = posthog.told(case.tool, **args)
        for title, fault in FAULTS.items():
            tenant.fault("api", fault, times=None)
            scenes[title] = posthog.told(case.tool, **args)
            tenant.heal()
        scenes["slow"] = slow(posthog, case, args)
        del world.keys["phx_demo"]
        scenes["the key is no good any more"] = posthog.told(case.tool, **args)

    approved(f"{case.tool}.failures", scenes)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_tool_gives_what_it_promises(plugboard: Plugboard, provider: Server, case: Case) -> None:
    with connected_posthog(plugboard, provider, strict=case.tool != "posthog_get") as posthog:
        for args in (case.happy, *case.more):
            if posthog.desk.call(case.tool, **args)["isError"] is False:
                posthog.desk.found(case.tool, **args)


ALONE = ("posthog_list_projects", "posthog_get")
FAULTS = {
    "down": Fault("down"),
    "no JSON": Fault("html"),
    "an answer of eight megabytes": Fault("huge"),
    "cut off": Fault("close"),
}


def slow(posthog: PostHog, case: Case, args: Json) -> str:
    posthog.desk.change(timeoutSeconds=1)
    posthog.tenant.fault("api", Fault("hold"))
    told = posthog.told(case.tool, **args)
    posthog.tenant.release()
    return told


def huge(posthog: PostHog, case: Case) -> str:
    """With texts that nobody wants whole, of which a person reads how long they are."""
    world = posthog.world
    for each in [*(one for kind in world.objects.values() for one in kind), *world.projects]:
        each |= {"description": HUGE, "filters": {**(each.get("filters") or {}), "more": [HUGE] * 5}}
        each |= {"properties": {**(each.get("properties") or {}), "bio": HUGE}, "notes": [{"text": HUGE}] * 5}
    for event in world.events:
        event["properties"] = f'{{"bio": "{HUGE}", "$pathname": "/"}}'
    args: Any = case.huge or case.happy
    told = re.sub(r"x{20,}", lambda found: f"[{len(found[0])} times x]", posthog.told(case.tool, **args))
    assert len(told) < 50_000
    return told

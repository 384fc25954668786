"""What a model reads of each of HubSpot's tools, whatever comes of it: approved by a person, in snapshots/hubspot."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes.authorization_server import Fault, Server
from tests.fakes.hubspot_world import World
from tests.harness import Plugboard
from tests.toolkits.desk import Json
from tests.toolkits.hubspot_desk import HubSpot, approved, connected_hubspot

HUGE = "x" * 60_000


def nothing_in(kind: str) -> Callable[[World], None]:
    return lambda world: world.records[kind].clear()


def nobody(world: World) -> None:
    world.owners.clear()


@dataclass(frozen=True)
class Case:
    tool: str
    happy: Json
    more: tuple[Json, ...]
    """Other ways to ask."""
    wrong: tuple[Json, ...]
    empty: Json
    emptied: Callable[[World], None] = field(default=lambda _: None)
    huge: Json = field(default_factory=dict)

    def __str__(self) -> str:
        return self.tool


def listing(kind: str, big: str) -> Case:
    more = ({"limit": 2, "properties": "createdate, Hubspot_Owner_Id, nonsense"}, {"archived": True})
    wrong: tuple[Json, ...] = ({"limit": 0}, {"limit": 500}, {"query": "Ada"}, {"properties": ["two words"]})
    huge = {"limit": 2, "properties": [big]}
    return Case(f"hubspot_list_{kind}", {"limit": 2}, more, wrong, {}, nothing_in(kind), huge)


def reading(one: str, number: int, big: str, more: tuple[Json, ...], wrong: tuple[Json, ...]) -> Case:
    name = f"{one}Id"
    usual: tuple[Json, ...] = ({name: number, "properties": ["createdate", "nonsense"]}, {name: number, "full": True})
    return Case(
        f"hubspot_get_{one}",
        {name: number},
        (*usual, *more),
        ({}, {name: ""}, {name: "Ada"}, *wrong),
        {name: 999},
        huge={name: number, "properties": [big]},
    )


def searching(kind: str, query: str, more: tuple[Json, ...], big: str) -> Case:
    wrong: tuple[Json, ...] = (
        {},
        {"query": query, "archived": True},
        {"query": query, "after": "10000"},
        {"filters": [{"propertyName": "createdate", "operator": "about", "value": "1"}]},
        {"filters": [{"propertyName": "createdate", "operator": "BETWEEN", "value": "2026-01-01"}]},
        {"filters": [{"propertyName": "no_such_thing", "value": "1"}]},
        {"filterGroups": [{"filters": []}, {"filters": []}]},
        {"query": query, "owner": "nobody@acme.example"},
    )
    huge = {"query": query, "properties": [big]}
    return Case(f"hubspot_search_{kind}", {"query": query, "limit": 2}, more, wrong, {"query": "zebra"}, huge=huge)


RECORD_URL = "https://app-eu1.hubspot.com/contacts/57685709/record"
CASES = [
    listing("contacts", "company"),
    listing("companies", "description"),
    listing("deals", "description"),
    reading("contact", 101, "company", ({"email": "ada@globex.example"}, {"id": 199, "archived": "true"}), ()),
    reading("company", 201, "description", ({"id": f"{RECORD_URL}/0-2/202/"},), ({"id": f"{RECORD_URL}/0-1/101"},)),
    reading("deal", 301, "description", ({"id": f"{RECORD_URL}/0-3/306"},), ({"id": "ada@globex.example"},)),
    searching(
        "contacts",
        "globex",
        (
            {"companyId": 203, "sort": "-lastname"},
            {"dealId": "303", "query": "som"},
            {"owner": "alan@acme.example", "properties": ["lifecyclestage"]},
            {"filters": [{"property": "createdate", "op": ">=", "value": "2026-08-01"}]},
        ),
        "company",
    ),
    searching(
        "companies",
        "g",
        (
            {"contactId": "104"},
            {"dealId": 301},
            {"filters": [{"field": "numberofemployees", "operator": ">", "value": 100}], "sort": "numberofemployees"},
            {"filters": [{"name": "annualrevenue", "operator": "not has property"}]},
        ),
        "description",
    ),
    searching(
        "deals",
        "umbra",
        (
            {"stage": "Closed won"},
            {"stage": "contractsent", "pipeline": "Sales"},
            {"stage": "won"},
            {"pipeline": "Renewals", "companyId": f"{RECORD_URL}/0-2/201"},
            {
                "filters": [
                    {"propertyName": "amount", "operator": "GT", "value": 20000},
                    {
                        "propertyName": "closedate",
                        "operator": "BETWEEN",
                        "value": "2026-11-01",
                        "highValue": "2026-12-31",
                    },
                ],
                "sort": "-amount",
            },
        ),
        "description",
    ),
    Case(
        "hubspot_list_owners",
        {},
        ({"limit": 2}, {"email": "grace@acme.example"}, {"archived": True}),
        ({"limit": 101}, {"name": "Grace"}),
        {},
        nobody,
    ),
    Case(
        "hubspot_get_owner",
        {"ownerId": 7001},
        ({"id": "9002", "by": "userId"}, {"email": "katherine@acme.example"}, {"ownerId": 7009, "archived": True}),
        ({}, {"ownerId": "Grace"}),
        {"ownerId": 7009},
    ),
    Case(
        "hubspot_search_owners",
        {"query": "a"},
        ({"name": "grace HOPPER"}, {"email": "alan@acme.example"}, {"query": "a", "limit": 1, "after": 1}),
        ({}, {"query": ""}, {"query": "a", "after": "next"}),
        {"query": "nobody"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_model_reads_when_it_asks_well_or_wrongly(plugboard: Plugboard, provider: Server, case: Case) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        scenes = {"as it is meant": hubspot.told(case.tool, **case.happy)}
        scenes |= {f"asked otherwise, {n}": hubspot.told(case.tool, **args) for n, args in enumerate(case.more, 1)}
        scenes |= {f"wrong arguments, {n}": hubspot.told(case.tool, **args) for n, args in enumerate(case.wrong, 1)}
        scenes["more than anybody reads"] = huge(hubspot, case)
        case.emptied(hubspot.world)
        scenes["nothing there"] = hubspot.told(case.tool, **case.empty)

    approved(case.tool, scenes)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_a_model_reads_when_hubspot_does_not_give_it(plugboard: Plugboard, provider: Server, case: Case) -> None:
    with connected_hubspot(plugboard, provider, timeoutSeconds=2) as hubspot:
        tenant = hubspot.tenant
        scopes = tenant.families[-1].scopes
        hubspot.grant("oauth")
        scenes = {"rights are missing": hubspot.told(case.tool, **case.happy)}
        hubspot.grant(*scopes)
        hubspot.world.hidden = "/crm/"
        scenes["the person may not see it"] = hubspot.told(case.tool, **case.happy)
        hubspot.world.hidden = ""
        hubspot.world.limit(1)
        scenes["too many requests"] = hubspot.told(case.tool, **case.happy)
        hubspot.world.limit(1, "DAILY")
        scenes["too many requests today"] = hubspot.told(case.tool, **case.happy)
        for title, fault in FAULTS.items():
            tenant.fault("api", fault, times=None)
            scenes[title] = hubspot.told(case.tool, **case.happy)
            tenant.heal()
        scenes["slow"] = slow(hubspot, case)
        tenant.forget_grants()
        scenes["taken away at HubSpot"] = hubspot.told(case.tool, **case.happy)
    with connected_hubspot(plugboard, provider, connect=False) as other:
        scenes["not connected"] = other.told(case.tool, **case.happy)

    approved(f"{case.tool}.failures", scenes)


FAULTS = {
    "down": Fault("down"),
    "no JSON": Fault("html"),
    "an answer of eight megabytes": Fault("huge"),
    "cut off": Fault("close"),
}


def slow(hubspot: HubSpot, case: Case) -> str:
    hubspot.desk.change(timeoutSeconds=1)
    hubspot.tenant.fault("api", Fault("hold"))
    told = hubspot.told(case.tool, **case.happy)
    hubspot.tenant.release()
    return told


def huge(hubspot: HubSpot, case: Case) -> str:
    """With values that nobody wants whole; of which a person reads how long they are."""
    for each in (record for kind in hubspot.world.records.values() for record in kind):
        for name in ("company", "description"):
            each["properties"][name] = f"Globex Umbra {HUGE}"
    for owner in hubspot.world.owners:
        owner["teams"] = [{"id": "1", "name": "Sales", "primary": True}] * 3
    args: Any = case.huge or case.happy
    return re.sub(r"x{20,}", lambda found: f"[{len(found[0])} times x]", hubspot.told(case.tool, **args))

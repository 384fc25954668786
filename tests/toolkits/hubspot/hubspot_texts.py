"""The calls and failures of HubSpot's tools whose texts are approved."""

from __future__ import annotations

from collections.abc import Callable

from tests.toolkits.contract import Json
from tests.toolkits.hubspot.connected_hubspot import HubSpot
from tests.toolkits.scenes import ApprovedTexts, Case, Scene, SceneCall, Setup, nothing, numbered, runs_counted

Ways = tuple[Json, ...]
LONG = "x" * 60_000


def nothing_in(kind: str) -> Callable[[HubSpot], None]:
    return lambda hubspot: hubspot.fake.records[kind].clear()


def nobody(hubspot: HubSpot) -> None:
    hubspot.fake.owners.clear()


def enlarged(hubspot: HubSpot) -> None:
    """Gives records very long values."""
    for item in (record for kind in hubspot.fake.records.values() for record in kind):
        for name in ("company", "description"):
            item["properties"][name] = f"Globex Umbra {LONG}"
    for owner in hubspot.fake.owners:
        owner["teams"] = [{"id": "1", "name": "Sales", "primary": True}] * 3


def case(
    tool: str,
    happy: Json,
    more: Ways,
    wrong: Ways,
    empty: Json,
    emptied: Setup = nothing,
    huge: Json | None = None,
    page: Json | None = None,
) -> Case:
    asks: dict[str, Json | SceneCall] = {
        Scene.MEANT: happy,
        **numbered(Scene.OTHERWISE, *more),
        **numbered(Scene.WRONG, *wrong),
    }
    if page is not None:
        asks[Scene.PAGE] = SceneCall(page, follow_pages=True)
    asks |= {Scene.HUGE: SceneCall(huge or happy, enlarged, runs_counted), Scene.EMPTY: SceneCall(empty, emptied)}
    return Case(tool, asks)


def listing(kind: str, big: str, wrong_too: Ways = ()) -> Case:
    more: Ways = ({"limit": 2, "properties": "createdate, Hubspot_Owner_Id, nonsense"}, {"archived": True})
    wrong: Ways = ({"limit": 0}, {"limit": 500}, {"query": "Ada"}, {"properties": ["two words"]}, *wrong_too)
    huge = {"limit": 2, "properties": [big]}
    return case(f"hubspot_list_{kind}", {"limit": 2}, more, wrong, {}, nothing_in(kind), huge, {"limit": 3})


def reading(one: str, number: int, big: str, more: Ways, wrong: Ways) -> Case:
    name = f"{one}Id"
    usual: Ways = ({name: number, "properties": ["createdate", "nonsense"]}, {name: number, "full": True})
    return case(
        f"hubspot_get_{one}",
        {name: number},
        (*usual, *more),
        ({}, {name: ""}, {name: "Ada"}, *wrong),
        {name: 999},
        huge={name: number, "properties": [big]},
    )


def where(name: str, value: object, operator: str = "EQ") -> Json:
    return {"filters": [{"name": name, "operator": operator, "value": value}]}


def searching(kind: str, query: str, more: Ways, big: str, page: Json | None = None, wrong_too: Ways = ()) -> Case:
    wrong: Ways = (
        {},
        {"query": query, "archived": True},
        {"query": query, "after": "10000"},
        {"filters": [{"propertyName": "createdate", "operator": "about", "value": "1"}]},
        {"filters": [{"propertyName": "createdate", "operator": "BETWEEN", "value": "2026-01-01"}]},
        {"filters": [{"propertyName": "no_such_thing", "value": "1"}]},
        {"filterGroups": [{"filters": []}, {"filters": []}]},
        {"query": query, "owner": "nobody@acme.example"},
        *wrong_too,
    )
    huge = {"query": query, "properties": [big]}
    page = page or {"query": query, "limit": 1}
    happy = {"query": query, "limit": 2}
    return case(f"hubspot_search_{kind}", happy, more, wrong, {"query": "zebra"}, huge=huge, page=page)


RECORD_URL = "https://app-eu1.hubspot.com/contacts/57685709/record"
CASES = (
    listing("contacts", "company", ({"properties": ["emial"]},)),
    listing("companies", "description"),
    listing("deals", "description", ({"sort": "-amount"},)),
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
            where("lifecyclestage", "Sales Qualified Lead"),
            where("Job Title", "Head of Radio"),
        ),
        "company",
        wrong_too=(where("lifecyclestage", "custmer"),),
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
        {"filters": [{"name": "country", "value": "Germany"}], "limit": 2},
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
            {"owner": "Grace Hopper"},
            {"owner": "Charles Babbage"},
            where("dealstage", ["Contract sent", "Due"], "IN"),
            where("closedate", "2026-11-30"),
            {"sort": "-amount", "limit": 2},
            {"contactId": "ada@globex.example"},
            {"query": "umbra", "after": "50"},
        ),
        "description",
        wrong_too=(
            {"owner": "9999"},
            {"stage": "Due", "pipeline": "Sales"},
            where("closedate", "tomorrow", "GTE"),
            where("closedate", "2026-11-30", "NEQ"),
            {"query": "globex", "sort": "closingdate"},
            {"companyId": 999},
        ),
    ),
    case(
        "hubspot_list_owners",
        {},
        ({"limit": 2}, {"email": "grace@acme.example"}, {"archived": True}),
        ({"limit": 101}, {"name": "Grace"}, {"email": "Grace"}),
        {},
        nobody,
        page={"limit": 1},
    ),
    case(
        "hubspot_get_owner",
        {"ownerId": 7001},
        (
            {"id": "9002", "by": "userId"},
            {"userId": 9002},
            {"email": "katherine@acme.example"},
            {"ownerId": 7009, "archived": True},
        ),
        ({}, {"ownerId": "Grace"}),
        {"ownerId": 7009},
    ),
    case(
        "hubspot_search_owners",
        {"query": "a"},
        ({"name": "grace HOPPER"}, {"email": "alan@acme.example"}, {"query": "a", "limit": 1, "after": 1}),
        ({}, {"query": ""}, {"query": "a", "after": "next"}),
        {"query": "nobody"},
        page={"query": "a", "limit": 1},
    ),
)


def hidden(hubspot: HubSpot) -> None:
    hubspot.fake.hidden_path = "/crm/"


TEXTS = ApprovedTexts(
    HubSpot,
    CASES,
    failures={
        Scene.RIGHTS: lambda hubspot, _: hubspot.grant_scopes("oauth"),
        f"{Scene.RIGHTS}: the person may not see it": lambda hubspot, _: hidden(hubspot),
        Scene.BUSY: lambda hubspot, _: hubspot.fake.rate_limit(1),
        f"{Scene.BUSY}: today": lambda hubspot, _: hubspot.fake.rate_limit(1, "DAILY"),
    },
    revoked_title="taken away at HubSpot",
)

from typing import Any

import pytest

from integrations.hubspot.tools_owners import hubspot_search_owners
from integrations.hubspot.tools_records import (
    hubspot_list_contacts,
    hubspot_search_companies,
    hubspot_search_contacts,
    hubspot_search_deals,
)
from integrations.tool import ServiceTool
from tests.integrations.hubspot.hubspot_account import HubSpotAccount

DEFINITIONS = "GET /crm/properties/2026-09/deals"


def one(name: str, operator: str = "EQ", value: object = "", **more: object) -> list[dict[str, Any]]:
    return [{"propertyName": name, "operator": operator, "value": value, **more}]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        (one("closedate", "EQ", "2026-11-30"), ["301"]),
        (one("closedate", "IN", "2026-11-30"), ["301"]),
        (one("closedate", "EQ", "2026-11-30T15:00:00Z"), ["301"]),
        (one("closedate", "EQ", "2026-11-30T16:00+01:00"), ["301"]),
        (one("closedate", "EQ", "2026-11-30T14:00:00Z"), []),
        (one("closedate", "EQ", "1796050800000"), ["301"]),
        (one("closedate", "NEQ", "2026-11-30T15:00:00Z"), ["302", "303", "304", "305", "306"]),
        (one("closedate", "LTE", "2026-05-01"), ["306"]),
        (one("closedate", "LT", "2026-05-01"), []),
        (one("closedate", "GT", "2026-12-31"), ["305"]),
        (one("closedate", "GTE", "2026-12-31"), ["302", "305"]),
        (one("closedate", "BETWEEN", "2026-11-30", highValue="2026-11-30"), ["301"]),
        (one("closedate", "BETWEEN", "", values=["2026-11-01", "2026-12-15"]), ["301", "303"]),
        (one("createdate", "EQ", "2026-04-03"), ["301"]),
        (one("createdate", "GTE", "2026-07-03") + one("createdate", "LTE", "2026-07-03"), ["302"]),
    ],
    ids=str,
)
async def test_a_day_covers_24_hours_and_a_time_is_a_moment(filters: list[dict[str, Any]], ids: list[str]) -> None:
    assert await HubSpotAccount().ids(hubspot_search_deals, filters=filters) == ids


@pytest.mark.parametrize(
    ("filters", "problem"),
    [
        (
            one("closedate", "GTE", "tomorrow"),
            "The filter on `closedate`: “tomorrow” is not a date: give a day as 2026-",
        ),
        (one("closedate", "GTE", "2026"), "The filter on `closedate`: “2026” is not a date"),
        (one("closedate", "GT", "2026-02-30"), "The filter on `closedate`: there is no such date as 2026-02-30."),
        (one("closedate", "NEQ", "2026-11-30"), "The filter on `closedate`: HubSpot cannot exclude one day"),
        (one("closedate", "IN", ["2026-11-30", "2026-12-01"]), "The filter on `closedate`: dates cannot be compared"),
        (one("amount", "GT", "20,000"), "The filter on `amount`: “20,000” is not a number: write it as 1234.5."),
        (one("amount", "BETWEEN", "1", highValue="many"), "The filter on `amount`: “many” is not a number"),
    ],
    ids=str,
)
async def test_a_value_that_cannot_be_compared_is_refused(filters: list[dict[str, Any]], problem: str) -> None:
    account = HubSpotAccount()
    failed = await account.failure(hubspot_search_deals, filters=filters)

    assert failed.kind == "invalid_arguments"
    assert failed.text.startswith(problem)
    assert account.requests == []


@pytest.mark.parametrize(
    ("tool", "args", "ids"),
    [
        (hubspot_search_deals, {"owner": "Grace Hopper"}, ["301", "302"]),
        (hubspot_search_deals, {"owner": "grace"}, ["301", "302"]),
        (hubspot_search_deals, {"owner": "grace@acme.example"}, ["301", "302"]),
        (hubspot_search_deals, {"ownerId": 7001}, ["301", "302"]),
        (hubspot_search_deals, {"owner": "Charles Babbage"}, ["306"]),
        (hubspot_search_deals, {"owner": "charles@acme.example"}, ["306"]),
        (hubspot_search_deals, {"owner": "7009"}, ["306"]),
        (hubspot_search_deals, {"filters": one("hubspot_owner_id", "EQ", "Grace Hopper")}, ["301", "302"]),
        (hubspot_search_deals, {"filters": one("hubspot_owner_id", "IN", ["7001", "Alan"])}, ["301", "302", "303"]),
        (hubspot_search_deals, {"filters": one("dealstage", "EQ", "Contract sent")}, ["301"]),
        (hubspot_search_deals, {"filters": one("dealstage", "IN", ["Contract sent", "Due"])}, ["301", "302"]),
        (hubspot_search_deals, {"filters": one("dealstage", "EQ", "closed won")}, ["304"]),
        (hubspot_search_deals, {"filters": one("dealstage", "NEQ", "Closed lost"), "owner": "7009"}, []),
        (hubspot_search_deals, {"filters": one("pipeline", "EQ", "Sales"), "owner": "grace"}, ["301"]),
        (hubspot_search_deals, {"stage": "Closed won", "pipeline": "Sales"}, ["304"]),
        (hubspot_search_deals, {"contactId": "ada@globex.example"}, ["301", "302"]),
        (hubspot_search_companies, {"contactId": "ada@globex.example"}, ["201"]),
        (hubspot_search_contacts, {"companyId": 203}, ["105", "106"]),
        (hubspot_search_contacts, {"filters": one("Job Title", "EQ", "chief weaver")}, ["102"]),
        (hubspot_search_contacts, {"filters": one("job_title", "IN", ["Chief Weaver", "Buyer"])}, ["102", "105"]),
        (hubspot_search_contacts, {"filters": one("lifecyclestage", "EQ", "Sales Qualified Lead")}, ["106"]),
        (hubspot_search_contacts, {"filters": one("hs_lead_status", "IN", ["in progress"])}, ["104", "105", "107"]),
        (hubspot_search_companies, {"filters": one("industry", "EQ", "Import and Export")}, ["204"]),
        (hubspot_search_deals, {"filters": one("associations.contact", "EQ", "101")}, ["301", "302"]),
        (hubspot_search_deals, {"sort": "-amount", "limit": 2}, ["305", "301"]),
        (hubspot_search_deals, {"sort": "amount"}, ["304", "302", "303", "301", "305", "306"]),
        (
            hubspot_search_deals,
            {"filters": one("amount", "HAS_PROPERTY"), "sort": "Amount desc", "limit": 2},
            ["305", "301"],
        ),
    ],
    ids=str,
)
async def test_names_are_resolved_to_ids(tool: ServiceTool, args: dict[str, Any], ids: list[str]) -> None:
    assert await HubSpotAccount().ids(tool, **args) == ids


EVERYBODY = "The owners are: Grace Hopper (7001), Alan Turing (7002), Katherine Johnson (7003)."


@pytest.mark.parametrize(
    ("tool", "args", "problem"),
    [
        (hubspot_search_deals, {"owner": "9999"}, f"There is no owner “9999”. {EVERYBODY}"),
        (hubspot_search_deals, {"owner": "Ada"}, f"There is no owner “Ada”. {EVERYBODY}"),
        (hubspot_search_deals, {"owner": "x@acme.example"}, f"There is no owner “x@acme.example”. {EVERYBODY}"),
        (
            hubspot_search_deals,
            {"filters": one("hubspot_owner_id", "NEQ", "Ada")},
            f"There is no owner “Ada”. {EVERYBODY}",
        ),
        (
            hubspot_search_deals,
            {"stage": "won", "pipeline": "Renewals"},
            "There is no stage “won” in that pipeline. Available: Due (r-due, Renewals), ",
        ),
        (
            hubspot_search_deals,
            {"stage": "Due", "pipeline": "Sales"},
            "There is no stage “Due” in that pipeline. Available: Appointment",
        ),
        (
            hubspot_search_deals,
            {"filters": one("pipeline", "EQ", "Sale")},
            "There is no pipeline “Sale”. Available: Sales (default), Renewals (86012).",
        ),
        (
            hubspot_search_deals,
            {"contactId": "x@globex.example"},
            "HubSpot has no contact x@globex.example. `hubspot_search_contacts`",
        ),
        (
            hubspot_search_deals,
            {"companyId": "999"},
            "HubSpot has no company 999. `hubspot_search_companies` finds companies by name.",
        ),
        (
            hubspot_search_contacts,
            {"filters": one("lifecyclestage", "EQ", "custmer")},
            "“custmer” is not a value of `lifecyclestage`. It accepts: subscriber (Subscriber), ",
        ),
        (
            hubspot_search_companies,
            {"filters": one("anual_revenue", "GT", "1")},
            "There is no property `anual_revenue` of companies. Did you mean `annualrevenue`?",
        ),
        (
            hubspot_search_deals,
            {"query": "globex", "sort": "closingdate"},
            "There is no property `closingdate` of deals. Did you mean `closedate`?",
        ),
        (
            hubspot_search_deals,
            {"query": "globex", "sort": "-zebra"},
            "There is no property `zebra` of deals. `hubspot_get_deal` with `full: true` shows",
        ),
        (
            hubspot_list_contacts,
            {"properties": ["emial"]},
            "There is no property `emial` of contacts. Did you mean `email`? `hubspot_get_contact`",
        ),
    ],
    ids=str,
)
async def test_an_unknown_name_is_refused_with_the_known_ones(
    tool: ServiceTool, args: dict[str, Any], problem: str
) -> None:
    failed = await HubSpotAccount().failure(tool, **args)

    assert failed.kind == "invalid_arguments"
    assert failed.text.startswith(problem)


async def test_an_ambiguous_owner_name_is_refused() -> None:
    account = HubSpotAccount()
    account.fake.owners[1]["firstName"] = "Grace"
    failed = await account.failure(hubspot_search_deals, owner="Grace")

    assert (
        failed.text
        == "Several owners are called “Grace”: Grace Hopper (7001), Grace Turing (7002). Give the id of one."
    )
    assert await account.ids(hubspot_search_deals, owner="Grace Hopper") == ["301", "302"]


async def test_an_unknown_owner_is_reported_with_similar_ones() -> None:
    account = HubSpotAccount()
    one = account.fake.owners[0]
    account.fake.owners += [one | {"id": str(n), "firstName": f"Number{n}", "lastName": "Nobody"} for n in range(40)]
    failed = await account.failure(hubspot_search_deals, owner="Grace Hoper")

    assert failed.text == (
        "There is no owner “Grace Hoper”. Similar owners: Grace Hopper (7001). "
        "`hubspot_search_owners` finds owners by name."
    )


async def test_an_owner_that_cannot_be_looked_up_is_searched_for_by_id() -> None:
    account = HubSpotAccount()
    account.fake.hidden_path = "/crm/owners"

    assert await account.ids(hubspot_search_deals, owner="7001") == ["301", "302"]


async def test_standard_properties_need_no_request() -> None:
    account = HubSpotAccount()
    await account.run(hubspot_search_deals, filters=one("amount", "GT", "1"), sort="-closedate", properties=["amount"])
    assert DEFINITIONS not in account.requests

    await account.run(hubspot_search_deals, filters=one("description", "HAS_PROPERTY"), sort="description")
    assert account.requests.count(DEFINITIONS) == 1


@pytest.mark.parametrize(
    ("args", "first", "notes"),
    [
        (
            {"query": "zebra"},
            "Nothing found.",
            [
                "`query` matches the beginning of words in names and descriptions.",
                "Records created in the last two minutes may be missing; `hubspot_list_deals` includes them.",
            ],
        ),
        (
            {"filters": one("amount", "GT", "1000000")},
            "Nothing found.",
            ["Records created in the last two minutes may be missing; `hubspot_list_deals` includes them."],
        ),
        ({"query": "umbra", "after": "50"}, "No more results: all 2 are on earlier pages.", []),
        ({"query": "umbra", "limit": 1, "after": "1"}, "1 of 2 deals:", []),
        ({"query": "umbra"}, "2 deals:", []),
        ({"query": "lenses"}, "1 deal:", []),
    ],
    ids=str,
)
async def test_a_result_begins_with_its_counts(args: dict[str, Any], first: str, notes: list[str]) -> None:
    result = await HubSpotAccount().run(hubspot_search_deals, **args)

    assert result.text().splitlines()[0] == first
    assert result.structured()["notes"] == notes


async def test_a_page_shows_its_cursor_and_creation_times() -> None:
    text = (await HubSpotAccount().run(hubspot_list_contacts, limit=1, properties=["email"])).text()

    assert text.splitlines() == [
        "1 contact, and more follow:",
        "- Ada Lovelace (contact 101) https://app-eu1.hubspot.com/contacts/57685709/record/0-1/101",
        "  email: ada@globex.example · created 2026-02-03 08:30, updated 2026-02-17 14:05 UTC",
        "",
        'More follow: call again with the same arguments and `after` "102".',
    ]


async def test_a_list_of_owners_is_counted_as_owners() -> None:
    text = (await HubSpotAccount().run(hubspot_search_owners, query="acme", limit=2)).text()

    assert text.splitlines()[0] == "2 of 3 owners:"


async def test_the_first_of_many_misspelt_properties_are_reported_with_similar_ones() -> None:
    result = await HubSpotAccount().run(hubspot_list_contacts, properties=["email", "emial", "phon", "compny"])

    assert result.structured()["notes"] == [
        "There is no property `emial` of contacts. Did you mean `email`?",
        "There is no property `phon` of contacts. Did you mean `phone`?",
        "There is no property `compny` of contacts.",
    ]


async def test_an_exact_name_of_a_former_owner_precedes_a_prefix_match() -> None:
    account = HubSpotAccount()
    account.fake.owners.append(account.fake.owners[0] | {"id": "7100", "lastName": "Babbage-Smith"})
    account.fake.owners[-1]["firstName"] = "Charles"

    assert await account.ids(hubspot_search_deals, owner="Charles Babbage") == ["306"]


@pytest.mark.parametrize("name", ["!!!", "-", "@", "😀"])
async def test_an_empty_word_matches_no_owner(name: str) -> None:
    account = HubSpotAccount()
    account.fake.owners = account.fake.owners[:1]

    failed = await account.failure(hubspot_search_deals, owner=name)

    assert failed.kind == "invalid_arguments"


async def test_very_long_values_are_refused_before_comparison() -> None:
    text = hubspot_search_deals.parse({"filters": one("hubspot_owner_id", "IN", values=["a " * 200_000])})

    assert text == ["`filters.0.values.0`: must have 200 characters at most."]

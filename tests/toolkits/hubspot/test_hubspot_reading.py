"""The results of HubSpot's tools, and the requests that they send."""

import json
from itertools import count
from typing import Any

import pytest

from demo.oauth_provider.http import Json, Request
from demo.oauth_provider.server import OAuthProvider
from demo.services.hubspot.fake import FakeHubSpot
from tests.harness import Plugboard
from tests.toolkits.hubspot.connected_hubspot import connected_hubspot

IN_GERMANY = [{"name": "country", "value": "Germany"}]
OBJECTS, OWNERS = "/crm/objects/2026-09", "/crm/owners/2026-09"


def ids(objects: list[Json]) -> list[str]:
    return [object_["id"] for object_ in objects]


def many_contacts(world: FakeHubSpot, number: int, **properties: Any) -> None:
    one = world.records["contacts"][0]
    world.records["contacts"] = [
        json.loads(json.dumps(one))
        | {"id": str(n), "properties": one["properties"] | properties | {"hs_object_id": str(n)}}
        for n in range(1000, 1000 + number)
    ]


@pytest.mark.parametrize(
    ("tool", "what", "args", "expected"),
    [
        ("hubspot_list_contacts", "records", {}, [str(n) for n in range(101, 108)]),
        ("hubspot_list_companies", "records", {}, ["201", "202", "203", "204"]),
        ("hubspot_list_deals", "records", {}, ["301", "302", "303", "304", "305", "306"]),
        ("hubspot_list_owners", "owners", {}, ["7001", "7002", "7003"]),
        ("hubspot_search_contacts", "records", {"query": "example"}, [str(n) for n in range(101, 108)]),
        ("hubspot_search_companies", "records", {"filters": IN_GERMANY}, ["201", "202", "203", "204"]),
        ("hubspot_search_deals", "records", {"owner": "7003", "sort": "-amount"}, ["305", "304"]),
        ("hubspot_search_owners", "owners", {"query": "acme.example"}, ["7001", "7002", "7003"]),
    ],
)  # fmt: skip
def test_paging_reaches_the_end_without_gaps_or_duplicates(
    plugboard: Plugboard, provider: OAuthProvider, tool: str, what: str, args: Json, expected: list[str]
) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        for limit in (1, 2, 100):
            assert ids(hubspot.all_items(tool, what, limit=limit, **args)) == expected


@pytest.mark.parametrize(
    ("tool", "args", "requests"),
    [
        ("hubspot_list_contacts", {"properties": ["email"]}, 1),
        ("hubspot_list_deals", {}, 4),
        ("hubspot_search_deals", {"stage": "Due", "owner": "grace@acme.example"}, 5),
        ("hubspot_get_company", {"id": 201, "full": True}, 3),
        ("hubspot_search_owners", {"query": "grace"}, 1),
    ],
)
def test_a_token_that_expires_during_a_call_is_renewed(
    plugboard: Plugboard, provider: OAuthProvider, tool: str, args: Json, requests: int
) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        expected = hubspot.text(tool, **args)
        assert len(hubspot.requests()) == requests

        for last in range(1, requests + 1):
            number, refreshed = count(1), hubspot.tenant.counts["refreshes"]
            hubspot.fake.before_response = lambda _: hubspot.tenant.expire_tokens() if next(number) == last else None  # noqa: B023
            assert hubspot.text(tool, **args) == expected
            assert hubspot.tenant.counts["refreshes"] == refreshed + 1


def test_only_names_are_missing_if_they_cannot_be_read(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        hubspot.fake.hidden_path = OWNERS
        result = hubspot.tools.result("hubspot_list_deals")

    assert len(result["records"]) == 6
    assert result["records"][0]["names"] == {"dealstage": "Contract sent", "pipeline": "Sales"}
    (note,) = result["notes"]
    assert note.startswith("Names of owners could not be read: HubSpot does not allow this connection to view that")


def test_names_that_are_not_shown_are_not_requested(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        hubspot.tools.result("hubspot_list_deals", properties=["amount"])

        assert hubspot.requests() == [f"GET {OBJECTS}/deals"]


def test_a_record_without_a_link_gets_one(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        text = hubspot.tools.result("hubspot_get_deal", dealId=301)["url"]
        hubspot.fake.includes_urls = False
        created = hubspot.tools.result("hubspot_get_deal", dealId=301)["url"]

    assert (text, created) == (
        "https://app-eu1.hubspot.com/contacts/57685709/record/0-3/301",
        "https://app.hubspot.com/contacts/57685709/record/0-3/301",
    )


def test_properties_that_do_not_fit_into_a_url_are_read_in_parts(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        custom = {f"a_property_with_a_rather_long_name_{n:03}": str(n) for n in range(300)}
        hubspot.fake.records["contacts"][0]["properties"] |= custom
        result = hubspot.tools.result("hubspot_get_contact", contactId=101, full=True)

        assert hubspot.requests().count(f"GET {OBJECTS}/contacts/101") > 10
    assert {name: value for name, value in result["properties"].items() if name in custom} == custom


def test_a_list_whose_properties_do_not_fit_into_a_url_is_refused_with_advice(
    plugboard: Plugboard, provider: OAuthProvider
) -> None:
    names = [f"a_property_with_a_rather_long_name_{n:03}" for n in range(60)]
    with connected_hubspot(plugboard, provider) as hubspot:
        failed = hubspot.tools.failure("hubspot_list_deals", "invalid_arguments", properties=names)
        assert hubspot.requests() == []
        assert hubspot.tools.result("hubspot_search_deals", query="globex", properties=[*names, "amount"])["total"] == 2

    assert "use `hubspot_search_deals_acme`" in failed["text"]


def test_a_record_with_many_associations_says_how_to_list_them(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        hubspot.fake.association_overrides["201", "contacts"] = [str(n) for n in range(60)]
        result = hubspot.tools.result("hubspot_get_company", companyId=201)

    assert result["associations"] == {"contacts": [str(n) for n in range(50)], "deals": ["301", "302"]}
    [note] = result["notes"]
    assert note.startswith(
        "Only the first 50 associated contacts are listed; `hubspot_search_contacts_acme` with `companyId:"
    )


def test_a_full_page_of_long_values_is_read_and_shortened(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        many_contacts(hubspot.fake, 100, company="c" * 9_000, jobtitle="j" * 9_000, phone="1" * 9_000)
        result = hubspot.tools.call("hubspot_list_contacts", limit=100)

    found = result["structuredContent"]["records"]
    assert len(found) == 100
    assert {len(item["properties"]["company"]) for item in found} == {40}
    assert len(result["text"]) < 50_000
    assert "left out" not in result["text"]
    assert result["text"].endswith("`properties` reads up to 40,000 characters of it.")


def test_a_search_ends_at_hubspots_paging_limit(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        many_contacts(hubspot.fake, 10_050)
        last = hubspot.tools.result("hubspot_search_contacts", query="ada", after="9990", properties=["email"])

    assert (len(last["records"]), last["total"], last.get("nextCursor")) == (10, 10_050, None)
    assert last["notes"][0].startswith("HubSpot returns no more than 10,000 results of one search.")


def test_too_many_conditions_are_refused_without_a_request(plugboard: Plugboard, provider: OAuthProvider) -> None:
    filters = [{"name": "amount", "operator": "GT", "value": n} for n in range(6)]
    with connected_hubspot(plugboard, provider) as hubspot:
        failed = hubspot.tools.failure("hubspot_search_deals", "invalid_arguments", filters=filters, companyId=201)

        assert failed["text"] == "Error: HubSpot accepts at most 6 conditions; these are 7."
        assert hubspot.requests() == []


def test_a_misspelt_property_is_reported_with_similar_ones(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        result = hubspot.tools.result("hubspot_list_companies", properties=["annual_revenue", "createdate", "zebra"])

    assert result["notes"] == [
        "There is no property `annual_revenue` of companies. Did you mean `annualrevenue`?",
        "There is no property `zebra` of companies.",
    ]


def test_an_owner_is_found_on_a_later_page(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        one = hubspot.fake.owners[0]
        hubspot.fake.owners = [one | {"id": str(n), "firstName": f"Nr{n}"} for n in range(1_200)]
        result = hubspot.tools.result("hubspot_search_owners", query="nr1199 hop")

        assert ids(result["owners"]) == ["1199"]
        assert hubspot.requests() == [f"GET {OWNERS}"] * 3


def test_an_owner_with_an_unknown_address_is_not_found(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        failed = hubspot.tools.failure("hubspot_get_owner", "upstream_refused", ownerId="nobody@acme.example")
        left = hubspot.tools.result("hubspot_get_owner", ownerId="charles@acme.example", archived=True)

    assert failed["text"].startswith(
        "Error: HubSpot has no owner nobody@acme.example. `archived: true` reads owners who have left."
    )
    assert (left["id"], left["archived"]) == ("7009", True)


def test_a_search_through_too_many_owners_is_reported_as_incomplete(
    plugboard: Plugboard, provider: OAuthProvider
) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        one = hubspot.fake.owners[0]
        hubspot.fake.owners = [one | {"id": str(n)} for n in range(5_001)]
        result = hubspot.tools.result("hubspot_search_owners", query="grace")

    assert (result["total"], result["nextCursor"]) == (5_000, "50")
    assert result["notes"] == ["Only the first 5,000 owners were searched."]


def test_the_demo_account_detects_writes(plugboard: Plugboard, provider: OAuthProvider) -> None:
    with connected_hubspot(plugboard, provider) as hubspot:
        (token,) = hubspot.tenant.live_tokens("access")
        request = Request("PATCH", f"{OBJECTS}/contacts/101", "", {"authorization": f"Bearer {token}"}, b"{}")

        assert hubspot.fake.respond(request).status == 405
        assert hubspot.fake.writes == [f"PATCH {OBJECTS}/contacts/101"]
        hubspot.fake.writes.clear()

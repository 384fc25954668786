import json
import threading
from typing import Any

import pytest

from demo.oauth_provider.http import Request, Response
from demo.oauth_provider.model import Client
from demo.oauth_provider.tenant import Tenant
from demo.services.hubspot.fake import FakeHubSpot

DEALS, CONTACTS = "/crm/objects/2026-09/deals", "/crm/objects/2026-09/contacts"
NOON = "1796050800000"
"""15:00 UTC on 2026-11-30, when deal 301 closes."""


@pytest.fixture
def world() -> FakeHubSpot:
    return FakeHubSpot(Tenant("hubspot", "http://127.0.0.1", threading.RLock()))


def request(world: FakeHubSpot, method: str, path: str, body: object, *scopes: str) -> Response:
    granted = scopes or ("crm.objects.deals.read", "crm.objects.contacts.read")
    token = world.tenant.grants.issue_to_client(Client("app"), granted, None).access.text
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    return world.respond(Request(method, path, "", headers, json.dumps(body).encode()))


def search(world: FakeHubSpot, path: str, **body: Any) -> Response:
    return request(world, "POST", f"{path}/search", body)


def records_of(response: Response) -> list[str]:
    assert response.status == 200, response.body
    return [result["id"] for result in json.loads(response.body)["results"]]


def one(name: str, operator: str, **values: object) -> dict[str, Any]:
    return {"filterGroups": [{"filters": [{"propertyName": name, "operator": operator, **values}]}]}


@pytest.mark.parametrize(
    "body",
    [
        one("closedate", "EQ", value="2026-11-30"),
        one("closedate", "GTE", value="2026-11-30"),
        one("closedate", "BETWEEN", value="1", highValue="2026-11-30"),
        one("closedate", "IN", values=["2026-11-30"]),
        one("closedate", "LT", value="tomorrow"),
        one("amount", "GT", value="many"),
        one("no_such_thing", "EQ", value="1"),
        {"query": "umbra", "sorts": [{"propertyName": "closingdate", "direction": "ASCENDING"}]},
    ],
    ids=json.dumps,
)
def test_an_unsupported_search_is_refused_without_a_reason(world: FakeHubSpot, body: dict[str, Any]) -> None:
    answer = search(world, DEALS, **body)

    assert (answer.status, json.loads(answer.body)["message"]) == (400, "There was a problem with the request.")


@pytest.mark.parametrize(
    ("path", "body", "ids"),
    [
        (DEALS, one("closedate", "EQ", value=NOON), ["301"]),
        (DEALS, one("closedate", "LTE", value="1795996800000"), ["304", "306"]),
        (DEALS, one("dealstage", "EQ", value="contractsent"), ["301"]),
        (DEALS, one("dealstage", "EQ", value="Contract sent"), []),
        (DEALS, one("dealstage", "EQ", value="ContractSent"), []),
        (DEALS, one("hubspot_owner_id", "EQ", value="Grace Hopper"), []),
        (DEALS, one("amount", "EQ", value="84000.0"), ["301"]),
        (DEALS, one("associations.contact", "EQ", value="ada@globex.example"), []),
        (DEALS, one("associations.contact", "EQ", value="101"), ["301", "302"]),
        (CONTACTS, one("jobtitle", "EQ", value="chief weaver"), ["102"]),
        (CONTACTS, one("jobtitle", "IN", values=["chief weaver"]), ["102"]),
        (CONTACTS, one("jobtitle", "IN", values=["Chief Weaver"]), []),
    ],
    ids=str,
)
def test_values_match_as_they_do_at_hubspot(
    world: FakeHubSpot, path: str, body: dict[str, Any], ids: list[str]
) -> None:
    assert records_of(search(world, path, **body)) == ids


def test_a_missing_scope_is_reported_with_all_alternatives(world: FakeHubSpot) -> None:
    response = request(world, "POST", f"{CONTACTS}/search", {"query": "ada"}, "crm.objects.deals.read")
    body = json.loads(response.body)["errors"][0]["context"]["requiredGranularScopes"]

    assert (response.status, body) == (403, ["crm.objects.contacts.read", "crm.objects.contacts.write"])


def test_properties_have_types_and_options(world: FakeHubSpot) -> None:
    response = request(world, "GET", "/crm/properties/2026-09/contacts", None)
    fields = {result["name"]: result for result in json.loads(response.body)["results"]}

    assert (fields["createdate"]["type"], fields["jobtitle"]["label"]) == ("datetime", "Job Title")
    assert {"label": "In Progress", "value": "IN_PROGRESS", "hidden": False} in fields["hs_lead_status"]["options"]

from typing import Any

import pytest

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.hubspot.hubspot_contract import CONTRACT

pytestmark = CONTRACT.needed
get = CONTRACT.get
CONTACTS, OWNERS = "/crm/objects/2026-09/contacts", "/crm/owners/2026-09"
NO_FILTER = {"propertyName": "email", "operator": "EQ", "value": "a"}


def search(**body: Any) -> RecordedRequest:
    return CONTRACT.sent("POST", f"{CONTACTS}/search", body)


@pytest.mark.parametrize(
    "recorded",
    [
        get(CONTACTS, limit="100", after="101", properties="email,phone", archived="true"),
        get(f"{CONTACTS}/101", associations="companies,deals"),
        get(f"{CONTACTS}/ada%40globex.example", idProperty="email"),
        get("/crm/objects/2026-03/deals", limit="1"),
        get(OWNERS, limit="500", email="ada@acme.example"),
        get(f"{OWNERS}/7001", idProperty="userId"),
        get("/crm/pipelines/2026-09/deals"),
        get("/crm/properties/2026-09/companies"),
        get("/account-info/2026-09/details"),
        search(query="ada", limit=200, after="50", properties=["email"], filterGroups=[{"filters": [NO_FILTER]}]),
    ],
    ids=lambda recorded: recorded.path,
)
def test_requests_that_hubspot_accepts_pass(recorded: RecordedRequest) -> None:
    CONTRACT.assert_accepts(recorded)


@pytest.mark.parametrize(
    ("recorded", "complaint"),
    [
        (get("/crm/v3/objects/contacts"), "no such operation"),
        (get("/crm/objects/2024-01/contacts"), "no such operation"),
        (get("/crm/objects/2026-09/tickets"), "no such operation"),
        (get(f"{CONTACTS}/search"), "no such operation"),
        (get(CONTACTS, limit="101"), "out of bounds"),
        (get(CONTACTS, query="ada"), "takes no query"),
        (get(CONTACTS, properties=""), "properties is empty"),
        (get(CONTACTS, archived="True"), "no boolean"),
        (get(OWNERS, limit="501"), "out of bounds"),
        (get(f"{OWNERS}/7001", idProperty="email"), "owners have no email"),
        (get("/crm/pipelines/2026-09/deals", limit="5"), "takes no limit"),
        (search(limit=201), "out of bounds"),
        (search(archived=True), "takes no archived"),
        (search(after="x"), "no integer"),
        (search(query="a" * 3001), "too long"),
        (search(properties=[1]), "no list of names"),
        (search(sorts=[{}, {}]), "only one sort"),
        (search(filterGroups=[{"filters": [NO_FILTER] * 7}]), "too many filters"),
        (search(filterGroups=[{"filters": [NO_FILTER | {"operator": "LIKE"}]}]), "no operator LIKE"),
    ],
)
def test_requests_that_hubspot_would_refuse_are_detected(recorded: RecordedRequest, complaint: str) -> None:
    CONTRACT.assert_refuses(recorded, complaint)

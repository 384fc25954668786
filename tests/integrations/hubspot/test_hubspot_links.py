import pytest

from integrations.hubspot.parsing import id_of
from integrations.hubspot.record_kinds import COMPANIES, CONTACTS, DEALS, Kind


@pytest.mark.parametrize(
    ("kind", "value", "number"),
    [
        (CONTACTS, 101, "101"),
        (CONTACTS, " 101 ", "101"),
        (CONTACTS, "ada@globex.example", "ada@globex.example"),
        (CONTACTS, "https://app.hubspot.com/contacts/576/record/0-1/101", "101"),
        (CONTACTS, "https://app-eu1.hubspot.com/contacts/576/record/0-1/101/view/1?eschref=x", "101"),
        (CONTACTS, "https://app.hubspot.com/contacts/576/contact/101/", "101"),
        (COMPANIES, "https://app.hubspot.com/contacts/576/company/201", "201"),
        (DEALS, "https://app-na2.hubspot.com/contacts/576/deal/301#notes", "301"),
        (DEALS, "", ""),
    ],
)
def test_a_record_is_parsed_in_every_form(kind: Kind, value: object, number: str) -> None:
    assert id_of(kind, value) == number


@pytest.mark.parametrize(
    ("kind", "value", "advice"),
    [
        (CONTACTS, "Ada", "hubspot_search_contacts"),
        (CONTACTS, "../deals", "hubspot_search_contacts"),
        (CONTACTS, "101/associations", "hubspot_search_contacts"),
        (COMPANIES, "ada@globex.example", "hubspot_search_companies"),
        (COMPANIES, "https://app.hubspot.com/contacts/576/record/0-3/301", "hubspot_get_deal"),
        (COMPANIES, "https://app.hubspot.com/contacts/576/contact/101", "hubspot_get_contact"),
        (DEALS, "https://app.hubspot.com/contacts/576/record/0-5/9", "must be the URL of a deal"),
        (DEALS, "https://hubspot.com.evil.example/contacts/576/record/0-3/9", "hubspot_search_deals"),
    ],
)
def test_another_link_is_refused_with_the_right_tool(kind: Kind, value: object, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        id_of(kind, value)

"""The tools for contacts: people whom the account knows."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from integrations.hubspot.client import HubSpotApi
from integrations.hubspot.object_types import COMPANIES, CONTACTS, DEALS
from integrations.hubspot.objects import listed, read, searched
from integrations.hubspot.params import One, Page, Search
from integrations.hubspot.parsing import CompanyId, ContactId, DealId
from integrations.hubspot.results import Record, Records
from integrations.tool import tool


class ContactPage(Page):
    kind: ClassVar = CONTACTS


class Contact(One):
    kind: ClassVar = CONTACTS
    aliases: ClassVar = One.aliases | dict.fromkeys(("id", "contact", "email", "url", "recordid", "vid"), "contact_id")
    contact_id: ContactId = Field(
        min_length=1,
        description="Its id, its email address, or its URL in HubSpot.",
        examples=["101", "ada@globex.example"],
    )


class ContactSearch(Search):
    kind: ClassVar = CONTACTS
    aliases: ClassVar = Search.aliases | {"company": "company_id", "deal": "deal_id"}
    company_id: CompanyId = Field(default="", description="Only those who belong to this company.")
    deal_id: DealId = Field(default="", description="Only those who belong to this deal.")


@tool("List contacts")
async def hubspot_list_contacts(api: HubSpotApi, ask: ContactPage) -> Records:
    """List the contacts of the HubSpot account, page by page, in the order in which HubSpot keeps them.

    For an overview, or to go through all. To find somebody, hubspot_search_contacts is quicker and takes filters.
    Each comes with its id, name, link and these properties, as far as they have a value: email, phone, job title,
    company, lifecycle stage, lead status, and the owner with their name. `properties` chooses others.
    At most 100 a page; while there is a `nextCursor`, pass it as `after` and leave the rest as it was.
    """
    return await listed(api, CONTACTS, ask)


@tool("Read a contact")
async def hubspot_get_contact(api: HubSpotApi, ask: Contact) -> Record:
    """Read one contact, by id, email address or URL.

    Gives what the list gives, and the ids of the companies and deals that belong to it, which hubspot_get_company and
    hubspot_get_deal read. `full: true` reads every property that has a value, custom ones and statistics included:
    that is also the way to learn which properties there are. A deleted contact is read with `archived: true`.
    """
    return await read(api, CONTACTS, ask.contact_id, ask)


@tool("Search contacts")
async def hubspot_search_contacts(api: HubSpotApi, ask: ContactSearch) -> Records:
    """Find contacts by words in their name, email address, phone or company, by filters on any property, by owner, or
    by the company or deal that they belong to. All that is given has to hold.

    Gives what hubspot_list_contacts gives, and how many there are in all. At most 100 a page and 10,000 in all; while
    there is a `nextCursor`, pass it as `after` and leave the rest as it was. What was written in the last two minutes
    may not be found yet; what is deleted never is.
    """
    return await searched(api, CONTACTS, ask, {COMPANIES: ask.company_id, DEALS: ask.deal_id})

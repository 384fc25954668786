"""The tools for companies: organizations that the account deals with."""

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


class CompanyPage(Page):
    kind: ClassVar = COMPANIES


class Company(One):
    kind: ClassVar = COMPANIES
    aliases: ClassVar = One.aliases | dict.fromkeys(("id", "company", "url", "recordid"), "company_id")
    company_id: CompanyId = Field(min_length=1, description="Its id, or its URL in HubSpot.", examples=["201"])


class CompanySearch(Search):
    kind: ClassVar = COMPANIES
    aliases: ClassVar = Search.aliases | {"contact": "contact_id", "deal": "deal_id"}
    contact_id: ContactId = Field(default="", description="Only those that this contact belongs to.")
    deal_id: DealId = Field(default="", description="Only those that this deal belongs to.")


@tool("List companies")
async def hubspot_list_companies(api: HubSpotApi, ask: CompanyPage) -> Records:
    """List the companies of the HubSpot account, page by page, in the order in which HubSpot keeps them.

    For an overview, or to go through all. To find one, hubspot_search_companies is quicker and takes filters.
    Each comes with its id, name, link and these properties, as far as they have a value: domain, industry, city,
    country, phone, number of employees, annual revenue, lifecycle stage, and the owner with their name. `properties`
    chooses others. At most 100 a page; while there is a `nextCursor`, pass it as `after` and leave the rest as it was.
    """
    return await listed(api, COMPANIES, ask)


@tool("Read a company")
async def hubspot_get_company(api: HubSpotApi, ask: Company) -> Record:
    """Read one company, by id or URL; hubspot_search_companies finds the id by name or domain.

    Gives what the list gives, and the ids of the contacts and deals that belong to it. To see them with their names,
    give hubspot_search_contacts or hubspot_search_deals this `companyId`. `full: true` reads every property that has a
    value, custom ones included: that is also the way to learn which properties there are. A deleted company is read
    with `archived: true`.
    """
    return await read(api, COMPANIES, ask.company_id, ask)


@tool("Search companies")
async def hubspot_search_companies(api: HubSpotApi, ask: CompanySearch) -> Records:
    """Find companies by words in their name, domain or phone, by filters on any property, by owner, or by a contact or
    deal that belongs to them. All that is given has to hold.

    Gives what hubspot_list_companies gives, and how many there are in all. At most 100 a page and 10,000 in all; while
    there is a `nextCursor`, pass it as `after` and leave the rest as it was. What was written in the last two minutes
    may not be found yet; what is deleted never is.
    """
    return await searched(api, COMPANIES, ask, {CONTACTS: ask.contact_id, DEALS: ask.deal_id})

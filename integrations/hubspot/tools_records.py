"""The tools for companies, contacts and deals."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from integrations.hubspot.client import HubSpotApi
from integrations.hubspot.filters import among
from integrations.hubspot.lookup import Meant
from integrations.hubspot.objects import listed, read, searched
from integrations.hubspot.params import One, Page, Search
from integrations.hubspot.parsing import CompanyId, ContactId, DealId
from integrations.hubspot.record_kinds import COMPANIES, CONTACTS, DEALS, PIPELINE, STAGE
from integrations.hubspot.results import CrmRecord, Records
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
async def hubspot_get_company(api: HubSpotApi, ask: Company) -> CrmRecord:
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
async def hubspot_get_contact(api: HubSpotApi, ask: Contact) -> CrmRecord:
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


class DealPage(Page):
    kind: ClassVar = DEALS


class Deal(One):
    kind: ClassVar = DEALS
    aliases: ClassVar = One.aliases | dict.fromkeys(("id", "deal", "url", "recordid"), "deal_id")
    deal_id: DealId = Field(min_length=1, description="Its id, or its URL in HubSpot.", examples=["301"])


class DealSearch(Search):
    kind: ClassVar = DEALS
    aliases: ClassVar = {
        **Search.aliases,
        **dict.fromkeys(("dealstage", "stageid", "stagename"), "stage"),
        **dict.fromkeys(("pipelineid", "pipelinename"), "pipeline"),
        "contact": "contact_id",
        "company": "company_id",
    }
    stage: str = Field(
        default="", max_length=200, description="Only those in this stage: its name or id.", examples=["Closed won"]
    )
    pipeline: str = Field(default="", max_length=200, description="Only those in this pipeline: its name or id.")
    contact_id: ContactId = Field(default="", description="Only those that this contact belongs to.")
    company_id: CompanyId = Field(default="", description="Only those with this company.")


@tool("List deals")
async def hubspot_list_deals(api: HubSpotApi, ask: DealPage) -> Records:
    """List the deals of the HubSpot account, page by page, in the order in which HubSpot keeps them.

    For an overview, or to go through all. To find some, hubspot_search_deals is quicker and takes filters.
    Each comes with its id, name, link and these properties, as far as they have a value: amount, currency, stage,
    pipeline, close date and owner; stage, pipeline and owner are ids with their names beside them. `properties`
    chooses others. At most 100 a page; while there is a `nextCursor`, pass it as `after` and leave the rest as it was.
    """
    return await listed(api, DEALS, ask)


@tool("Read a deal")
async def hubspot_get_deal(api: HubSpotApi, ask: Deal) -> CrmRecord:
    """Read one deal, by id or URL; hubspot_search_deals finds the id by name.

    Gives what the list gives, and the ids of the contacts and companies that belong to it, which hubspot_get_contact
    and hubspot_get_company read. `full: true` reads every property that has a value, custom ones included: that is
    also the way to learn which properties there are. A deleted deal is read with `archived: true`.
    """
    return await read(api, DEALS, ask.deal_id, ask)


@tool("Search deals")
async def hubspot_search_deals(api: HubSpotApi, ask: DealSearch) -> Records:
    """Find deals by words in their name, by stage or pipeline, by filters on any property such as `amount` or
    `closedate`, by owner, or by the contact or company that they belong to. All that is given has to hold.

    Gives what hubspot_list_deals gives, and how many there are in all. At most 100 a page and 10,000 in all; while
    there is a `nextCursor`, pass it as `after` and leave the rest as it was. What was written in the last two minutes
    may not be found yet; what is deleted never is. `sort: -amount` alone begins with the largest. Sums are for you to
    make, of all pages.
    """
    meant = Meant(api)
    in_pipelines = await meant.pipelines(ask.pipeline) if ask.pipeline else []
    in_stages = await meant.stages(ask.stage, in_pipelines) if ask.stage else []
    placed = {STAGE: in_stages, PIPELINE: in_pipelines}
    conditions = [among(name, "EQ", several) for name, several in placed.items() if several]
    return await searched(api, DEALS, ask, {CONTACTS: ask.contact_id, COMPANIES: ask.company_id}, conditions)

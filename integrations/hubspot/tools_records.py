"""The tools for companies, contacts and deals."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from integrations.hubspot.client import HubSpotApi
from integrations.hubspot.lookup import Lookup
from integrations.hubspot.objects import list_records, read, search_records
from integrations.hubspot.params import One, Page, Search
from integrations.hubspot.parsing import CompanyId, ContactId, DealId
from integrations.hubspot.record_kinds import COMPANIES, CONTACTS, DEALS, PIPELINE, STAGE
from integrations.hubspot.results import CrmRecord, Records
from integrations.hubspot.search_conditions import among
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
    contact_id: ContactId = Field(default="", description="Only those associated with this contact.")
    deal_id: DealId = Field(default="", description="Only those associated with this deal.")


@tool("List companies")
async def hubspot_list_companies(api: HubSpotApi, params: CompanyPage) -> Records:
    """List the companies of the HubSpot account, page by page, in HubSpot's own order.

    Use it for an overview or to read all companies. hubspot_search_companies finds certain ones, with filters.
    Returns id, name, link and, if they have a value, these properties of each: domain, industry, city, country, phone,
    number of employees, annual revenue, lifecycle stage, and the owner with their name. `properties` selects others.
    At most 100 per page; while there is a `nextCursor`, pass it as `after` and keep the other arguments.
    """
    return await list_records(api, COMPANIES, params)


@tool("Read a company")
async def hubspot_get_company(api: HubSpotApi, params: Company) -> CrmRecord:
    """Read one company, by id or URL; hubspot_search_companies finds the id by name or domain.

    Returns the same fields as the list, and the ids of associated contacts and deals. To see their names, pass this
    `companyId` to hubspot_search_contacts or hubspot_search_deals. `full: true` reads every property that has a value,
    including custom ones; it also shows which properties exist. `archived: true` reads a deleted company.
    """
    return await read(api, COMPANIES, params.company_id, params)


@tool("Search companies")
async def hubspot_search_companies(api: HubSpotApi, params: CompanySearch) -> Records:
    """Find companies by words in their name, domain or phone, by filters on any property, by owner, or by an
    associated contact or deal. All given conditions must hold.

    Returns the same fields as hubspot_list_companies, and the number of matches. At most 100 per page, 10,000 in total;
    while there is a `nextCursor`, pass it as `after` and keep the other arguments. The search may miss changes of the
    last two minutes, and never finds deleted records.
    """
    return await search_records(api, COMPANIES, params, {CONTACTS: params.contact_id, DEALS: params.deal_id})


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
    company_id: CompanyId = Field(default="", description="Only those associated with this company.")
    deal_id: DealId = Field(default="", description="Only those associated with this deal.")


@tool("List contacts")
async def hubspot_list_contacts(api: HubSpotApi, params: ContactPage) -> Records:
    """List the contacts of the HubSpot account, page by page, in HubSpot's own order.

    Use it for an overview or to read all contacts. hubspot_search_contacts finds certain ones, with filters.
    Returns id, name, link and, if they have a value, these properties of each: email, phone, job title, company,
    lifecycle stage, lead status, and the owner with their name. `properties` selects others.
    At most 100 per page; while there is a `nextCursor`, pass it as `after` and keep the other arguments.
    """
    return await list_records(api, CONTACTS, params)


@tool("Read a contact")
async def hubspot_get_contact(api: HubSpotApi, params: Contact) -> CrmRecord:
    """Read one contact, by id, email address or URL.

    Returns the same fields as the list, and the ids of associated companies and deals, which hubspot_get_company and
    hubspot_get_deal read. `full: true` reads every property that has a value, including custom ones and statistics; it
    also shows which properties exist. `archived: true` reads a deleted contact.
    """
    return await read(api, CONTACTS, params.contact_id, params)


@tool("Search contacts")
async def hubspot_search_contacts(api: HubSpotApi, params: ContactSearch) -> Records:
    """Find contacts by words in their name, email address, phone or company, by filters on any property, by owner, or
    by an associated company or deal. All given conditions must hold.

    Returns the same fields as hubspot_list_contacts, and the number of matches. At most 100 per page, 10,000 in total;
    while there is a `nextCursor`, pass it as `after` and keep the other arguments. The search may miss changes of the
    last two minutes, and never finds deleted records.
    """
    return await search_records(api, CONTACTS, params, {COMPANIES: params.company_id, DEALS: params.deal_id})


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
        default="", max_length=200, description="Only deals in this stage: its name or id.", examples=["Closed won"]
    )
    pipeline: str = Field(default="", max_length=200, description="Only deals in this pipeline: its name or id.")
    contact_id: ContactId = Field(default="", description="Only those associated with this contact.")
    company_id: CompanyId = Field(default="", description="Only those associated with this company.")


@tool("List deals")
async def hubspot_list_deals(api: HubSpotApi, params: DealPage) -> Records:
    """List the deals of the HubSpot account, page by page, in HubSpot's own order.

    Use it for an overview or to read all deals. hubspot_search_deals finds certain ones, with filters.
    Returns id, name, link and, if they have a value, these properties of each: amount, currency, stage, pipeline, close
    date and owner; stage, pipeline and owner are ids followed by their names. `properties` selects others.
    At most 100 per page; while there is a `nextCursor`, pass it as `after` and keep the other arguments.
    """
    return await list_records(api, DEALS, params)


@tool("Read a deal")
async def hubspot_get_deal(api: HubSpotApi, params: Deal) -> CrmRecord:
    """Read one deal, by id or URL; hubspot_search_deals finds the id by name.

    Returns the same fields as the list, and the ids of associated contacts and companies, which hubspot_get_contact and
    hubspot_get_company read. `full: true` reads every property that has a value, including custom ones; it also shows
    which properties exist. `archived: true` reads a deleted deal.
    """
    return await read(api, DEALS, params.deal_id, params)


@tool("Search deals")
async def hubspot_search_deals(api: HubSpotApi, params: DealSearch) -> Records:
    """Find deals by words in their name, by stage or pipeline, by filters on any property such as `amount` or
    `closedate`, by owner, or by an associated contact or company. All given conditions must hold.

    Returns the same fields as hubspot_list_deals, and the number of matches. At most 100 per page, 10,000 in total;
    while there is a `nextCursor`, pass it as `after` and keep the other arguments. The search may miss changes of the
    last two minutes, and never finds deleted records. `sort: -amount` alone starts with the largest deals. To sum
    amounts, add them up over all pages.
    """
    lookup = Lookup(api)
    pipelines = await lookup.pipelines(params.pipeline) if params.pipeline else []
    stages = await lookup.stages(params.stage, pipelines) if params.stage else []
    ids_by_property = {STAGE: stages, PIPELINE: pipelines}
    conditions = [among(name, "EQ", ids) for name, ids in ids_by_property.items() if ids]
    return await search_records(
        api, DEALS, params, {CONTACTS: params.contact_id, COMPANIES: params.company_id}, conditions
    )

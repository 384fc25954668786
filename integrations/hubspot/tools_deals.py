"""The tools for deals: sales that may come about, in the stages of a pipeline."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from integrations.hubspot.client import HubSpotApi
from integrations.hubspot.filters import among
from integrations.hubspot.lookup import Meant
from integrations.hubspot.object_types import COMPANIES, CONTACTS, DEALS, PIPELINE, STAGE
from integrations.hubspot.objects import listed, read, searched
from integrations.hubspot.params import One, Page, Search
from integrations.hubspot.parsing import CompanyId, ContactId, DealId
from integrations.hubspot.results import Record, Records
from integrations.tool import tool


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
async def hubspot_get_deal(api: HubSpotApi, ask: Deal) -> Record:
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

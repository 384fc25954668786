"""The tools of HubSpot, all of which only read."""

from __future__ import annotations

from integrations.hubspot.client import HubSpotApi
from integrations.hubspot.tools_owners import hubspot_get_owner, hubspot_list_owners, hubspot_search_owners
from integrations.hubspot.tools_records import (
    hubspot_get_company,
    hubspot_get_contact,
    hubspot_get_deal,
    hubspot_list_companies,
    hubspot_list_contacts,
    hubspot_list_deals,
    hubspot_search_companies,
    hubspot_search_contacts,
    hubspot_search_deals,
)

API = HubSpotApi
TOOLS = [
    hubspot_list_contacts,
    hubspot_get_contact,
    hubspot_search_contacts,
    hubspot_list_companies,
    hubspot_get_company,
    hubspot_search_companies,
    hubspot_list_deals,
    hubspot_get_deal,
    hubspot_search_deals,
    hubspot_list_owners,
    hubspot_get_owner,
    hubspot_search_owners,
]

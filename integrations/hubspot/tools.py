"""Which tools does HubSpot have? All of them read."""

from __future__ import annotations

from integrations.hubspot.client import HubSpotApi
from integrations.hubspot.tools_companies import hubspot_get_company, hubspot_list_companies, hubspot_search_companies
from integrations.hubspot.tools_contacts import hubspot_get_contact, hubspot_list_contacts, hubspot_search_contacts
from integrations.hubspot.tools_deals import hubspot_get_deal, hubspot_list_deals, hubspot_search_deals
from integrations.hubspot.tools_owners import hubspot_get_owner, hubspot_list_owners, hubspot_search_owners

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

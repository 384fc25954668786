"""The kinds of records that HubSpot has, and the properties that are shown of each by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from integrations.hubspot.client import OBJECTS, PROPERTIES

OWNER, STAGE, PIPELINE = "hubspot_owner_id", "dealstage", "pipeline"
ASSOCIATED = "associations."
"""The prefix of property names for associations in a search."""
BOOKKEEPING = frozenset({"hs_object_id", "createdate", "lastmodifieddate", "hs_lastmodifieddate"})
"""Properties that every record has and that are shown in other fields."""
COMMON_TYPES = {"hs_object_id": "number", "createdate": "datetime", OWNER: "enumeration"}


@dataclass(frozen=True)
class Kind:
    singular: str
    plural: str
    type_id: str
    """The type in URLs of the HubSpot app."""

    titles: tuple[tuple[str, ...], ...]
    """Groups of properties that form a name; the first group with a value is used."""

    shown: tuple[str, ...]
    """The properties that are shown by default."""

    related: tuple[str, ...]
    """Kinds whose records can be associated with this one."""

    searched_fields: str
    """The fields that a search matches words with."""

    types: Mapping[str, str] = field(hash=False)
    """Types of common properties that every account has, which need not be read from HubSpot."""

    @property
    def path(self) -> str:
        return f"{OBJECTS}/{self.plural}"

    @property
    def definitions(self) -> str:
        """The path of its property definitions."""
        return f"{PROPERTIES}/{self.plural}"

    def name(self, properties: Mapping[str, str | None]) -> str | None:
        candidates = (" ".join(filter(None, map(properties.get, names))) for names in self.titles)
        return next(filter(None, candidates), None)

    def requested_properties(self, selected: list[str]) -> tuple[str, ...]:
        """The properties to request: the selected or default ones, and those of the name."""
        names = tuple(name for title in self.titles for name in title)
        return tuple(dict.fromkeys([*(selected or self.shown), *names]))


CONTACTS = Kind(
    "contact",
    "contacts",
    "0-1",
    (("firstname", "lastname"), ("email",)),
    ("email", "phone", "jobtitle", "company", "lifecyclestage", "hs_lead_status", OWNER),
    ("companies", "deals"),
    "names, email addresses, phone numbers and company names",
    {
        **COMMON_TYPES,
        "lastmodifieddate": "datetime",
        **dict.fromkeys(("email", "firstname", "lastname", "jobtitle", "company"), "string"),
    },
)
COMPANIES = Kind(
    "company",
    "companies",
    "0-2",
    (("name",), ("domain",)),
    (
        *("domain", "industry", "city", "country", "phone"),
        *("numberofemployees", "annualrevenue", "lifecyclestage"),
        OWNER,
    ),
    ("contacts", "deals"),
    "names, domains and phone numbers",
    {
        **COMMON_TYPES,
        "hs_lastmodifieddate": "datetime",
        **dict.fromkeys(("name", "domain", "city", "country"), "string"),
        **dict.fromkeys(("numberofemployees", "annualrevenue"), "number"),
    },
)
DEALS = Kind(
    "deal",
    "deals",
    "0-3",
    (("dealname",),),
    ("amount", "deal_currency_code", STAGE, PIPELINE, "closedate", OWNER),
    ("contacts", "companies"),
    "names and descriptions",
    {
        **COMMON_TYPES,
        **dict.fromkeys(("hs_lastmodifieddate", "closedate"), "datetime"),
        **dict.fromkeys((STAGE, PIPELINE), "enumeration"),
        "dealname": "string",
        "amount": "number",
    },
)
KINDS = {kind.plural: kind for kind in (CONTACTS, COMPANIES, DEALS)}

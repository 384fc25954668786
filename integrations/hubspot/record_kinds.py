"""The kinds of records that HubSpot has, and the properties that are shown of each by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from integrations.hubspot.client import OBJECTS, PROPERTIES

OWNER, STAGE, PIPELINE = "hubspot_owner_id", "dealstage", "pipeline"
ASSOCIATED = "associations."
"""What the names begin with by which a search asks for what belongs to a record."""
BOOKKEEPING = frozenset({"hs_object_id", "createdate", "lastmodifieddate", "hs_lastmodifieddate"})
"""Of every record, and said in other words."""
SURE = {"hs_object_id": "number", "createdate": "datetime", OWNER: "enumeration"}


@dataclass(frozen=True)
class Kind:
    one: str
    many: str
    type_id: str
    """As in the URLs that people open."""

    titles: tuple[tuple[str, ...], ...]
    """Properties that make a name together; the first that have a value are taken."""

    shown: tuple[str, ...]
    """The properties that are worth reading where nobody chose any."""

    related: tuple[str, ...]
    """Kinds whose records belong to those of this one."""

    looked_at: str
    """Where a search looks for words."""

    types: Mapping[str, str] = field(hash=False)
    """Of properties that every account has and that searches use most, so that nobody has to ask for them."""

    @property
    def path(self) -> str:
        return f"{OBJECTS}/{self.many}"

    @property
    def definitions(self) -> str:
        """Where its properties are described."""
        return f"{PROPERTIES}/{self.many}"

    def name(self, properties: Mapping[str, str | None]) -> str | None:
        made = (" ".join(filter(None, map(properties.get, names))) for names in self.titles)
        return next(filter(None, made), None)

    def wanted(self, chosen: list[str]) -> tuple[str, ...]:
        """What to ask for: HubSpot gives few properties by itself, and none that a record's name needs."""
        names = tuple(name for title in self.titles for name in title)
        return tuple(dict.fromkeys([*(chosen or self.shown), *names]))


CONTACTS = Kind(
    "contact",
    "contacts",
    "0-1",
    (("firstname", "lastname"), ("email",)),
    ("email", "phone", "jobtitle", "company", "lifecyclestage", "hs_lead_status", OWNER),
    ("companies", "deals"),
    "names, email addresses, phone numbers and company names",
    {
        **SURE,
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
        **SURE,
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
        **SURE,
        **dict.fromkeys(("hs_lastmodifieddate", "closedate"), "datetime"),
        **dict.fromkeys((STAGE, PIPELINE), "enumeration"),
        "dealname": "string",
        "amount": "number",
    },
)
KINDS = {kind.many: kind for kind in (CONTACTS, COMPANIES, DEALS)}

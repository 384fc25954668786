"""Which kinds of records does HubSpot have, and what does a reader want to see of each?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from integrations.hubspot.api import OBJECTS, PROPERTIES

OWNER, STAGE, PIPELINE = "hubspot_owner_id", "dealstage", "pipeline"
BOOKKEEPING = frozenset({"hs_object_id", "createdate", "lastmodifieddate", "hs_lastmodifieddate"})
"""Of every record, and said in other words."""


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
)
DEALS = Kind(
    "deal",
    "deals",
    "0-3",
    (("dealname",),),
    ("amount", "deal_currency_code", STAGE, PIPELINE, "closedate", OWNER),
    ("contacts", "companies"),
)
KINDS = {kind.many: kind for kind in (CONTACTS, COMPANIES, DEALS)}

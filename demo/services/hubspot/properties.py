"""Property definitions of the demo account: names, types and options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from demo.oauth_provider.http import Json

STRING, NUMBER, DATETIME, CHOICE = "string", "number", "datetime", "enumeration"
LIFE = {
    "subscriber": "Subscriber",
    "lead": "Lead",
    "marketingqualifiedlead": "Marketing Qualified Lead",
    "salesqualifiedlead": "Sales Qualified Lead",
    "opportunity": "Opportunity",
    "customer": "Customer",
}
LEAD_STATUS = {"NEW": "New", "OPEN": "Open", "IN_PROGRESS": "In Progress", "UNQUALIFIED": "Unqualified"}
INDUSTRY = {
    "MACHINERY": "Machinery",
    "ELECTRICAL_ELECTRONIC_MANUFACTURING": "Electrical/Electronic Manufacturing",
    "TEXTILES": "Textiles",
    "IMPORT_AND_EXPORT": "Import and Export",
}
ALL = {
    "hs_object_id": ("Record ID", NUMBER),
    "createdate": ("Create Date", DATETIME),
    "hubspot_owner_id": ("Owner", CHOICE),
}
DESCRIPTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "contacts": {
        **ALL,
        "lastmodifieddate": ("Last Modified Date", DATETIME),
        "firstname": ("First Name", STRING),
        "lastname": ("Last Name", STRING),
        "email": ("Email", STRING),
        "phone": ("Phone Number", STRING),
        "jobtitle": ("Job Title", STRING),
        "company": ("Company Name", STRING),
        "lifecyclestage": ("Lifecycle Stage", CHOICE),
        "hs_lead_status": ("Lead Status", CHOICE),
    },
    "companies": {
        **ALL,
        "hs_lastmodifieddate": ("Last Modified Date", DATETIME),
        "name": ("Company name", STRING),
        "domain": ("Company Domain Name", STRING),
        "website": ("Website URL", STRING),
        "industry": ("Industry", CHOICE),
        "city": ("City", STRING),
        "country": ("Country/Region", STRING),
        "phone": ("Phone Number", STRING),
        "numberofemployees": ("Number of Employees", NUMBER),
        "annualrevenue": ("Annual Revenue", NUMBER),
        "lifecyclestage": ("Lifecycle Stage", CHOICE),
        "description": ("Description", STRING),
    },
    "deals": {
        **ALL,
        "hs_lastmodifieddate": ("Last Modified Date", DATETIME),
        "dealname": ("Deal Name", STRING),
        "amount": ("Amount", NUMBER),
        "deal_currency_code": ("Currency", CHOICE),
        "dealstage": ("Deal Stage", CHOICE),
        "pipeline": ("Pipeline", CHOICE),
        "closedate": ("Close Date", DATETIME),
        "description": ("Deal Description", STRING),
    },
}
CHOICES: Mapping[str, Mapping[str, str]] = {
    "lifecyclestage": LIFE,
    "hs_lead_status": LEAD_STATUS,
    "industry": INDUSTRY,
    "deal_currency_code": {"EUR": "EUR", "USD": "USD"},
}


def definitions(kind: str, records: list[Json]) -> Iterator[Json]:
    """The standard properties, then additional ones of the records."""
    names = dict.fromkeys([*DESCRIPTIONS[kind], *(name for record in records for name in record["properties"])])
    for name in names:
        label, of_type = DESCRIPTIONS[kind].get(name, (name.replace("_", " ").capitalize(), STRING))
        choices = CHOICES.get(name, {})
        yield {
            "name": name,
            "label": label,
            "type": of_type,
            "fieldType": {NUMBER: "number", DATETIME: "date", CHOICE: "select"}.get(of_type, "text"),
            "groupName": kind,
            "options": [{"label": label, "value": value, "hidden": False} for value, label in choices.items()],
            **({"externalOptions": True, "referencedObjectType": "OWNER"} if name == "hubspot_owner_id" else {}),
        }


def types(kind: str, records: list[Json]) -> dict[str, str]:
    return {definition["name"]: definition["type"] for definition in definitions(kind, records)}

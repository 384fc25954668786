"""Data of the HubSpot demo account: a small company that sells looms and engines."""

from __future__ import annotations

from demo.oauth_provider.http import Json

KINDS = {"contacts": "0-1", "companies": "0-2", "deals": "0-3"}

OWNERS: list[Json] = [
    {
        "id": number,
        "email": email,
        "firstName": first,
        "lastName": last,
        "type": "PERSON",
        "userId": user,
        "userIdIncludingInactive": user or 9099,
        "archived": archived,
        "createdAt": "2024-01-08T09:00:00Z",
        "updatedAt": "2026-09-01T09:00:00Z",
        **({"teams": [{"id": "51", "name": team, "primary": True}]} if team else {}),
    }
    for number, first, last, email, user, team, archived in (
        ("7001", "Grace", "Hopper", "grace@acme.example", 9001, "Sales", False),
        ("7002", "Alan", "Turing", "alan@acme.example", 9002, "Sales", False),
        ("7003", "Katherine", "Johnson", "katherine@acme.example", 9003, "Key accounts", False),
        ("7009", "Charles", "Babbage", "charles@acme.example", None, "", True),
    )
]


def _stages(prefix: str, *names: str) -> list[Json]:
    return [
        {
            "id": f"{prefix}{name.replace(' ', '').lower()}",
            "label": name,
            "displayOrder": place,
            "metadata": {"isClosed": str(name.startswith("Closed")).lower(), "probability": "0.5"},
            "createdAt": "2024-01-08T09:00:00Z",
            "updatedAt": "2024-01-08T09:00:00Z",
            "archived": False,
        }
        for place, name in enumerate(names)
    ]


PIPELINES: list[Json] = [
    {
        "id": "default",
        "label": "Sales",
        "displayOrder": 0,
        "archived": False,
        "stages": _stages("", "Appointment scheduled", "Presentation", "Contract sent", "Closed won", "Closed lost"),
    },
    {
        "id": "86012",
        "label": "Renewals",
        "displayOrder": 1,
        "archived": False,
        "stages": _stages("r-", "Due", "Closed won", "Closed lost"),
    },
]


def _record(number: str, month: str, archived: bool = False, **properties: str | None) -> Json:
    created, updated = f"2026-{month}-03T08:30:00.000Z", f"2026-{month}-17T14:05:00.000Z"
    modified = "lastmodifieddate" if "firstname" in properties else "hs_lastmodifieddate"
    always = {"hs_object_id": number, "createdate": created, modified: updated}
    times = {"createdAt": created, "updatedAt": updated, "archived": archived}
    return {"id": number, "properties": {**always, **properties}, **times}


def _contact(number: str, month: str, first: str, last: str, company: str, title: str, stage: str, owner: str) -> Json:
    place = company.split(maxsplit=1)[0].lower()
    return _record(
        number,
        month,
        archived=number == "199",
        firstname=first,
        lastname=last,
        email=f"{first.lower()}@{place}.example",
        phone=f"+49 30 5550{number}",
        jobtitle=title,
        company=company,
        lifecyclestage=stage,
        hs_lead_status="IN_PROGRESS" if stage == "lead" else None,
        hubspot_owner_id=owner or None,
        favourite_loom="Jacquard" if number == "101" else None,
    )


CONTACTS = [
    _contact("101", "02", "Ada", "Lovelace", "Globex Engines", "Head of Analysis", "customer", "7001"),
    _contact("102", "03", "Joseph", "Jacquard", "Globex Engines", "Chief Weaver", "customer", "7001"),
    _contact("103", "03", "Mary", "Somerville", "Initech Optics", "Director of Research", "opportunity", "7002"),
    _contact("104", "05", "Sofia", "Kovalevskaya", "Initech Optics", "Engineer", "lead", "7002"),
    _contact("105", "06", "Emmy", "Noether", "Umbra Textiles", "Buyer", "lead", "7009"),
    _contact("106", "08", "Hedy", "Lamarr", "Umbra Textiles", "Head of Radio", "salesqualifiedlead", "7003"),
    _contact("107", "09", "Rosalind", "Franklin", "Vandelay Imports", "Founder", "lead", ""),
    _contact("199", "01", "Dionysius", "Lardner", "Vandelay Imports", "Lecturer", "lead", ""),
]
COMPANIES = [
    _record(
        *(number, month),
        name=name,
        domain=f"{name.split(maxsplit=1)[0].lower()}.example",
        industry=industry,
        city=city,
        country="Germany",
        phone=f"+49 30 5551{number}",
        numberofemployees=size,
        annualrevenue=revenue,
        lifecyclestage=stage,
        hubspot_owner_id=owner,
        description="Makes what others think of.",
    )
    for number, month, name, industry, city, size, revenue, stage, owner in (
        ("201", "02", "Globex Engines", "MACHINERY", "Berlin", "420", "61000000", "customer", "7001"),
        (
            "202",
            "03",
            "Initech Optics",
            "ELECTRICAL_ELECTRONIC_MANUFACTURING",
            "Jena",
            "85",
            None,
            "opportunity",
            "7002",
        ),
        ("203", "06", "Umbra Textiles", "TEXTILES", "Krefeld", "1200", "140000000", "lead", "7003"),
        ("204", "09", "Vandelay Imports", "IMPORT_AND_EXPORT", "Hamburg", None, None, "lead", None),
    )
]
DEALS = [
    _record(
        *(number, month),
        dealname=name,
        amount=amount,
        deal_currency_code="EUR",
        dealstage=stage,
        pipeline=pipeline,
        closedate=f"{closes}:00Z",
        hubspot_owner_id=owner,
        description=None,
    )
    for number, month, name, amount, stage, pipeline, closes, owner in (
        ("301", "04", "Globex: forty looms", "84000", "contractsent", "default", "2026-11-30T15:00", "7001"),
        ("302", "07", "Globex: service 2027", "12000", "r-due", "86012", "2026-12-31T00:00", "7001"),
        ("303", "05", "Initech: lenses for looms", "30500", "presentation", "default", "2026-12-15T09:30", "7002"),
        ("304", "06", "Umbra: trial of one engine", "9900", "closedwon", "default", "2026-09-30T16:45", "7003"),
        ("305", "08", "Umbra: twelve engines", "118800", "appointmentscheduled", "default", "2027-02-28T00:00", "7003"),
        ("306", "03", "Vandelay: samples", None, "closedlost", "default", "2026-05-01T23:59", "7009"),
    )
]
RECORDS = {"contacts": CONTACTS, "companies": COMPANIES, "deals": DEALS}
_TOGETHER = (
    {"companies": "201", "contacts": "101 102", "deals": "301 302"},
    {"companies": "202", "contacts": "103 104", "deals": "303"},
    {"companies": "203", "contacts": "105 106", "deals": "304 305"},
    {"companies": "204", "contacts": "107", "deals": ""},
)


def ASSOCIATIONS(kind: str, one: str, other: str) -> list[str]:  # noqa: N802  it is a table, in few words
    """The ids of associated records of another kind."""
    return [item for group in _TOGETHER if one in group[kind].split() for item in group[other].split()]

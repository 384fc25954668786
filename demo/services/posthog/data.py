"""Data of the PostHog demo: the projects of a small company with a shop."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
ORGANIZATION = {"id": "018c0f2e-0000-0000-a3b1-5c5d1a2b3c4d", "name": "Acme"}
SHOP, BLOG = 12345, 12346
SURVEY = "018f2a52-7c1e-0000-9d0c-1f6f0a5b7c11"
ADA, GRACE, ALAN = (f"018e7f00-0000-0000-8000-00000000000{number}" for number in (1, 2, 3))
PEOPLE = {
    ADA: ("ada@globex.example", "Ada Byron", "pro", "Globex"),
    GRACE: ("grace@umbra.example", "Grace Hopper", "free", "Umbra"),
    ALAN: ("alan@initech.example", "Alan Turing", "pro", "Initech"),
}
MADE_BY = {"id": 7, "uuid": "018c0f2e-1111-0000-0000-000000000007", "first_name": "Katherine"}
KATHERINE = {**MADE_BY, "email": "katherine@acme.example"}
NEWCOMERS = {
    f"018e7f00-0000-0000-8000-00000000000{number}": (email, name, plan, company)
    for number, (email, name, plan, company) in enumerate(
        (
            ("dorothy@hooli.example", "Dorothy Vaughan", "free", "Hooli"),
            ("edsger@vandelay.example", "Edsger Dijkstra", "pro", "Vandelay"),
            ("barbara@hooli.example", "Barbara Liskov", "free", "Hooli"),
            ("margaret@apollo.example", "Margaret Hamilton", "team", "Apollo"),
            ("donald@texts.example", "Donald Knuth", "free", "Texts"),
            ("radia@bridges.example", "Radia Perlman", "pro", "Bridges"),
        ),
        4,
    )
}
"""The persons who signed up this week, newest first."""
EVERYBODY = PEOPLE | NEWCOMERS
PAGES = ("/", "/pricing", "/docs", "/checkout")


def projects() -> list[Json]:
    usual = {"organization": ORGANIZATION["id"], "is_demo": False, "ingested_event": True, "timezone": "Europe/Berlin"}
    internal = {"key": "email", "type": "person", "value": "@acme.example", "operator": "not_icontains"}
    shop = {"id": SHOP, "name": "Acme Shop", "api_token": "phc_acmeshop", "app_urls": ["https://shop.acme.example"]}
    more = {"test_account_filters": [internal], "session_recording_opt_in": True, "secret_api_token": "phs_canary"}
    blog = {"id": BLOG, "name": "Acme Blog", "api_token": "phc_acmeblog", "app_urls": []}
    return [
        {**shop, **usual, **more, "created_at": "2025-03-01T09:00:00Z"},
        {**blog, **usual, "ingested_event": False, "created_at": "2026-06-01T09:00:00Z"},
    ]


def objects() -> dict[str, list[Json]]:
    """By the end of their path. They are the shop's."""
    return {
        "feature_flags": _flags(),
        "insights": _insights(),
        "dashboards": [_dashboard()],
        "annotations": _annotations(),
        "experiments": _experiments(),
        "cohorts": _cohorts(),
        "surveys": [_survey()],
        "persons": _persons(),
        "event_definitions": _event_definitions(),
        "property_definitions": _property_definitions(),
        "actions": [{"id": 91, "name": "Signed up", "steps": [{"event": "user signed up"}], "created_by": KATHERINE}],
    }


def events() -> list[Json]:
    """Events of a week: four page views a day, some purchases and sign-ups."""
    result = list[Json]()
    people = list(PEOPLE)
    for number in range(56):
        person = people[number % 3]
        at = NOW - timedelta(hours=3 * number + 1)
        page = PAGES[number % 4]
        result.append(_event(number, "$pageview", at, person, {"$pathname": page, "$browser": "Firefox"}))
        if page == "/checkout" and number % 8 == 3:
            paid = {"plan": PEOPLE[person][2], "amount": 20 + number}
            result.append(_event(100 + number, "order paid", at + timedelta(minutes=5), person, paid))
    for number, (person, at) in enumerate(_signups().items()):
        result.append(_event(200 + number, "user signed up", at, person, {"plan": NEWCOMERS[person][2]}))
    return sorted(result, key=lambda value: (value["timestamp"], value["uuid"]), reverse=True)


def _signups() -> dict[str, datetime]:
    return {person: NOW - timedelta(hours=15 + 14 * number) for number, person in enumerate(NEWCOMERS)}


def _event(number: int, name: str, at: datetime, person: str, properties: Json) -> Json:
    return {
        "uuid": f"019a0000-0000-7000-8000-{number:012d}",
        "event": name,
        "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00"),
        "distinct_id": EVERYBODY[person][0],
        "person_id": person,
        "properties": json.dumps({**properties, "$lib": "web", "$ip": "203.0.113.7"}),
    }


def _made(at: str = "2026-10-01T09:30:00Z") -> Json:
    return {"created_at": at, "created_by": KATHERINE}


def _flags() -> list[Json]:
    globex = {"key": "email", "type": "person", "value": ["@globex.example"], "operator": "icontains"}
    seats = {"key": "seats", "type": "group", "value": "5", "operator": "gte"}
    everyone = {"properties": [], "rollout_percentage": 100}
    variants = [{"key": "control", "rollout_percentage": 50}, {"key": "short", "rollout_percentage": 50}]
    usual = {"deleted": False, "archived": False, "updated_at": "2026-11-10T08:00:00Z", "version": 3, **_made()}
    return [
        {
            **usual,
            "id": 7,
            "version": 9,
            "key": "new-checkout",
            "name": "The checkout on one page",
            "active": True,
            "tags": ["checkout"],
            "status": "ACTIVE",
            "filters": {
                "groups": [
                    {"properties": [globex], "rollout_percentage": 100},
                    {"properties": [], "rollout_percentage": 20},
                ],
                "payloads": {"true": '{"steps": 1}'},
            },
            "experiment_set": [],
        },
        {
            **usual,
            "id": 8,
            "key": "checkout-copy",
            "name": "Which words sell",
            "active": True,
            "tags": ["checkout", "experiment"],
            "status": "ACTIVE",
            "filters": {"groups": [everyone], "multivariate": {"variants": variants}, "payloads": {}},
            "experiment_set": [61],
        },
        {
            **usual,
            "id": 9,
            "key": "dark-mode",
            "name": "",
            "active": False,
            "tags": [],
            "status": "INACTIVE",
            "filters": {"groups": [everyone], "payloads": {}},
            "experiment_set": [],
        },
        {
            **usual,
            "id": 10,
            "key": "team-plans",
            "name": "Plans for whole companies",
            "active": True,
            "tags": [],
            "status": "STALE",
            "filters": {
                "groups": [{"properties": [seats], "rollout_percentage": 20}],
                "aggregation_group_type_index": 0,
                "payloads": {},
            },
            "experiment_set": [],
        },
    ]


def _insights() -> list[Json]:
    pageview = {"kind": "EventsNode", "event": "$pageview", "name": "Pageview", "math": "dau"}
    paid = {"kind": "EventsNode", "event": "order paid", "name": "order paid"}
    since = {"date_from": "-7d"}
    trends = {"kind": "TrendsQuery", "series": [pageview, {**paid, "math": "total"}], "dateRange": since}
    funnel = {
        "kind": "FunnelsQuery",
        "series": [{**paid, "event": "$pageview", "name": "Pageview"}, paid],
        "dateRange": since,
    }
    come_back = {"targetEntity": {"id": "$pageview", "name": "$pageview", "type": "events"}, "period": "Week"}
    retention = {
        "kind": "RetentionQuery",
        "retentionFilter": {**come_back, "returningEntity": come_back["targetEntity"], "totalIntervals": 3},
    }
    sql = {"kind": "HogQLQuery", "query": "SELECT event, count() AS n FROM events GROUP BY event ORDER BY n DESC"}
    return [
        _insight(21, "AaVQ8Ijw", "Visitors and orders", {"kind": "InsightVizNode", "source": trends}, [31]),
        _insight(22, "bB3funnl", "Checkout funnel", {"kind": "InsightVizNode", "source": funnel}, [31]),
        _insight(23, "cC4retnt", "Who comes back", {"kind": "InsightVizNode", "source": retention}, []),
        _insight(24, "dD5sqlsq", "Events by name", {"kind": "DataVisualizationNode", "source": sql}, []),
    ]


def _insight(number: int, short: str, name: str, query: Json, dashboards: list[int]) -> Json:
    return {
        "id": number,
        "short_id": short,
        "name": name,
        "derived_name": None,
        "description": "",
        "favorited": number == 21,
        "saved": True,
        "query": query,
        "result": None,
        "tags": ["weekly"] if dashboards else [],
        "dashboard_tiles": [{"id": 300 + number, "dashboard_id": dashboard} for dashboard in dashboards],
        "last_modified_at": "2026-11-12T10:00:00Z",
        **_made(),
    }


def _dashboard() -> Json:
    known = {insight["id"]: insight for insight in _insights()}
    tiles = [{"id": 321, "insight": known[21]}, {"id": 322, "insight": known[22]}]
    text = {"id": 323, "insight": None, "text": {"body": "Looked at every **Monday**."}}
    button = {"id": 324, "insight": None, "button_tile": {"text": "Shop", "url": "https://shop.acme.example"}}
    widget = {"id": 325, "insight": None, "widget": {"widget_type": "error_tracking", "config": {}}}
    return {
        "id": 31,
        "name": "Product KPIs",
        "description": "What the shop team looks at.",
        "pinned": True,
        "tags": ["weekly"],
        "last_accessed_at": "2026-11-16T08:00:00Z",
        "tiles": [*tiles, text, button, widget],
        **_made(),
    }


def _annotations() -> list[Json]:
    release = {"id": 52, "content": "Release 4.2: the checkout on one page", "date_marker": "2026-11-10T08:00:00Z"}
    outage = {"id": 51, "content": "Payments were down for two hours", "date_marker": "2026-10-21T14:00:00Z"}
    usual = {"scope": "project", "insight_short_id": None, "dashboard_id": None, **_made()}
    return [{**usual, **release}, {**usual, **outage, "scope": "dashboard_item", "insight_short_id": "bB3funnl"}]


def _experiments() -> list[Json]:
    flag = next(flag for flag in _flags() if flag["id"] == 8)
    metric = {
        "kind": "ExperimentMetric",
        "metric_type": "mean",
        "uuid": "m-1",
        "name": "Orders a person",
        "goal": "increase",
    }
    source = {"kind": "EventsNode", "event": "order paid", "math": "total"}
    running = {
        "id": 61,
        "name": "Shorter words at the checkout",
        "description": "Fewer words, more orders.",
        "status": "running",
        "start_date": "2026-11-03T09:00:00Z",
        "end_date": None,
        "feature_flag_key": "checkout-copy",
        "feature_flag": flag,
        "metrics": [{**metric, "source": source}],
        "metrics_secondary": [{**metric, "uuid": "m-2", "name": "Money a person", "source": {**source, "math": "sum"}}],
    }
    draft = {"id": 62, "name": "Free shipping", "description": None, "status": "draft", "start_date": None}
    idle = {"end_date": None, "feature_flag_key": "free-shipping", "feature_flag": None, "metrics": []}
    usual = {"type": "product", "archived": False, "conclusion": None, "saved_metrics": [], **_made()}
    return [{**usual, **running}, {**usual, **draft, **idle, "metrics_secondary": []}]


def _cohorts() -> list[Json]:
    pro = {"type": "person", "key": "plan", "value": "pro", "operator": "exact"}
    rules = {"properties": {"type": "OR", "values": [{"type": "AND", "values": [pro]}]}}
    usual = {"is_calculating": False, "last_calculation": "2026-11-17T05:00:00Z", "errors_calculating": 0, **_made()}
    paying = {"id": 41, "name": "Paying customers", "description": "Those on pro", "count": 4, "is_static": False}
    beta = {"id": 42, "name": "Beta testers", "description": "", "count": 1, "is_static": True, "filters": {}}
    return [{**usual, **paying, "filters": rules}, {**usual, **beta}]


def _survey() -> Json:
    rating = {"id": "q-1", "type": "rating", "question": "How likely are you to tell others about us?", "scale": 10}
    words = {"id": "q-2", "type": "open", "question": "What is missing?", "optional": True}
    return {
        "id": SURVEY,
        "name": "NPS, autumn",
        "description": "Shown after the second order",
        "type": "popover",
        "questions": [rating, words],
        "start_date": "2026-10-15T09:00:00Z",
        "end_date": None,
        "archived": False,
        "linked_flag_id": None,
        "responses_limit": None,
        **_made(),
    }


def _persons() -> list[Json]:
    results = [_person(number, uuid, *known) for number, (uuid, known) in enumerate(EVERYBODY.items(), 501)]
    return [result | _since(_signups().get(result["uuid"])) for result in results]


def _since(signed_up: datetime | None) -> Json:
    """A new person has one event, at the time of the sign-up."""
    at = signed_up.strftime("%Y-%m-%dT%H:%M:%SZ") if signed_up else ""
    return {"created_at": at, "last_seen_at": at} if at else {}


def _person(number: int, uuid: str, email: str, name: str, plan: str, company: str) -> Json:
    properties = {"$browser": "Firefox", "$geoip_country_name": "Germany", "email": email, "name": name, "plan": plan}
    return {
        "id": number,
        "uuid": uuid,
        "name": email,
        "distinct_ids": [email, f"anon-{number}"],
        "properties": {**properties, "company": company, "orders": number % 7 if uuid in PEOPLE else 0},
        "created_at": "2026-02-01T10:00:00Z",
        "last_seen_at": "2026-11-17T11:00:00Z",
    }


def _event_definitions() -> list[Json]:
    seen = {"last_seen_at": "2026-11-17T11:00:00Z", "created_at": "2025-03-01T09:00:00Z", "tags": [], "verified": False}
    paid = {"name": "order paid", "description": "Money has come in", "verified": True, "tags": ["revenue"]}
    signed_up = {"name": "user signed up", "description": "Somebody has made an account"}
    signed_up["last_seen_at"] = "2026-11-16T21:00:00Z"
    text = ({"name": "$pageview"}, paid, signed_up)
    return [{"id": f"ed-{number}", **seen, **item} for number, item in enumerate(text, 1)]


def _property_definitions() -> list[Json]:
    """`of` is not part of PostHog's format: the kind of the property and the events that have it."""
    notes = [
        ("$pathname", "String", "event", ("$pageview",)),
        ("$browser", "String", "event", ("$pageview",)),
        ("plan", "String", "event", ("order paid", "user signed up")),
        ("amount", "Numeric", "event", ("order paid",)),
        ("email", "String", "person", ()),
        ("plan", "String", "person", ()),
    ]
    return [
        {"id": f"pd-{number}", "name": name, "property_type": kind, "is_numerical": kind == "Numeric", "of": (of, seen)}
        for number, (name, kind, of, seen) in enumerate(notes, 1)
    ]

from typing import Any

import pytest

from demo.oauth_provider.tenant import RecordedRequest
from tests.toolkits.posthog.posthog_contract import CONTRACT

pytestmark = CONTRACT.needed
get = CONTRACT.get
PROJECT = "/api/projects/1"
PAGEVIEW = {"kind": "EventsNode", "event": "$pageview"}


def query(path: str = f"{PROJECT}/query/", **body: Any) -> RecordedRequest:
    return CONTRACT.sent("POST", path, body)


@pytest.mark.parametrize(
    "recorded",
    [
        get("/api/users/@me/"),
        get("/api/personal_api_keys/@current/"),
        get("/api/organizations/018c/projects/", limit="100"),
        get(f"{PROJECT}/"),
        get(f"{PROJECT}/feature_flags/", search="a", active="STALE", tags='["a"]', type="boolean", key="a", limit="2"),
        get(f"{PROJECT}/insights/", saved="true", insight="SQL", short_id="AaVQ8Ijw", offset="10"),
        get(f"{PROJECT}/experiments/", status="draft", feature_flag_id="7", archived="true"),
        get(f"{PROJECT}/surveys/018f/stats/"),
        get(f"{PROJECT}/query/q1/"),
        query(query={"kind": "HogQLQuery", "query": "SELECT 1", "values": {"a": 1}}, refresh="async"),
        query(query={"kind": "EventsQuery", "select": ["uuid"], "after": "-7d", "limit": 50}, refresh="force_async"),
        query(query={"kind": "TrendsQuery", "series": [{**PAGEVIEW, "math": "dau"}]}),
    ],
    ids=lambda recorded: f"{recorded.method} {recorded.path} {recorded.body[:30]}",
)
def test_requests_that_posthog_accepts_pass(recorded: RecordedRequest) -> None:
    CONTRACT.assert_accepts(recorded)


@pytest.mark.parametrize(
    ("recorded", "complaint"),
    [
        (get(f"{PROJECT}/feature_flags"), "no such operation"),
        (get(f"{PROJECT}/flags/"), "no such operation"),
        (get(f"{PROJECT}/feature_flags/", query="a"), "takes no query"),
        (get(f"{PROJECT}/feature_flags/", limit="many"), "limit is not as it should be"),
        (get(f"{PROJECT}/feature_flags/", active="maybe"), "active is not as it should be"),
        (get(f"{PROJECT}/insights/", insight="TREND"), "insight is not as it should be"),
        (get(f"{PROJECT}/event_definitions/", event="a"), "takes no event"),
        (query(f"{PROJECT}/feature_flags/", key="a"), "no read"),
        (CONTRACT.sent("DELETE", f"{PROJECT}/query/q1/", ""), "no read"),
        (query(query={"kind": "HogQLQuery", "sql": "SELECT 1"}), "takes no sql"),
        (query(query={"kind": "HogQLQuery", "query": "SELECT 1"}, refresh="often"), "no refresh often"),
        (query(query={"kind": "HogQLQuery", "query": "SELECT 1"}, limit=5), "takes no limit"),
        (query(query={"kind": "EventsQuery", "distinctId": "a"}), "takes no distinctId"),
        (query(query={"kind": "TrendsQuery", "series": PAGEVIEW}), "TrendsQuery"),
        (query(query={"kind": "SqlQuery"}), "no query SqlQuery"),
    ],
)
def test_requests_that_posthog_would_refuse_are_detected(recorded: RecordedRequest, complaint: str) -> None:
    CONTRACT.assert_refuses(recorded, complaint)

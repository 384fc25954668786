import asyncio
import threading
from typing import Any

import httpx2
import pytest

from demo.oauth_provider.server import Fault, OAuthProvider
from tests.fakes.authorization_client import OAuthApp, mcp_app
from tests.harness import many_callers


@pytest.fixture
def app(shared: OAuthProvider) -> OAuthApp:
    shared.reset()
    return mcp_app(shared)


def test_each_refresh_is_counted_by_the_generation_it_ends(app: OAuthApp) -> None:
    found = app.connect()
    for _ in range(3):
        found = app.refresh(found["refresh_token"]).json()

    (family,) = app.tenant.families
    assert (family.generation, family.presented, family.refreshed) == (3, [1, 1, 1, 0], [1, 1, 1, 0])
    assert app.tenant.counts == {"exchanges": 1, "refreshes": 3}
    assert app.tenant.request_counts == {"authorize": 1, "token": 4}


def test_a_reused_refresh_token_revokes_its_family(app: OAuthApp) -> None:
    first = app.connect()
    second = app.refresh(first["refresh_token"]).json()

    again = app.refresh(first["refresh_token"])

    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert "access_token" not in app.refresh(second["refresh_token"]).json()
    assert app.tenant.live_tokens("access") == []
    (family,) = app.tenant.families
    assert (family.reuses, family.presented, family.refreshed) == (1, [2, 1], [1, 0])
    assert app.tenant.counts["reuses"] == 1


def test_a_used_refresh_token_is_accepted_during_its_grace_period(app: OAuthApp) -> None:
    app.tenant.configure(grace=60.0)
    first = app.connect()
    responses = [app.refresh(first["refresh_token"]) for _ in range(2)]

    assert [response.status_code for response in responses] == [200, 200]
    assert (app.tenant.counts["graces"], app.tenant.counts["reuses"]) == (1, 0)
    assert app.tenant.families[0].refreshed == [2, 0]


def test_a_refresh_token_of_another_client_is_refused(app: OAuthApp) -> None:
    tokens = app.connect()
    app.tenant.add_client("other")
    app.id = "other"

    assert app.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert app.tenant.families[0].presented == [0]


def test_a_reused_code_revokes_its_tokens(app: OAuthApp) -> None:
    code = app.code()
    body = app.exchange(code).json()

    again = app.exchange(code)

    assert again.json()["error"] == "invalid_grant"
    assert app.me(body["access_token"]).status_code == 401
    assert app.tenant.counts["code_reuses"] == 1


def test_tokens_have_the_configured_lifetime(app: OAuthApp) -> None:
    app.tenant.configure(access_life=0.0, expires_in=0.25)
    short = app.connect()
    app.tenant.configure(access_life=None, expires_in=None)
    endless = app.connect()

    assert (short["expires_in"], "expires_in" in endless) == (0.25, False)
    assert app.tenant.live_tokens("access") == [endless["access_token"]]


def test_responses_can_be_altered(app: OAuthApp) -> None:
    app.tenant.configure(answer_changes={"id_token": "x", "refresh_token": None, "token_type": "mac"})
    tokens = app.connect()

    assert (tokens["id_token"], tokens["token_type"], "refresh_token" in tokens) == ("x", "mac", False)


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [
        (Fault("down"), 503, b"<html>"),
        (Fault("down", status=500), 500, b"<html>"),
        (Fault("busy", retry_after=7), 429, b"slow_down"),
        (Fault("html"), 200, b"<html>"),
        (Fault("empty"), 200, b""),
        (Fault("text"), 200, b"access_token"),
        (Fault("array"), 200, b"[{"),
        (Fault("huge"), 200, b"xxxx"),
        (Fault("redirect", location="https://elsewhere.example.com/"), 302, b""),
    ],
)
def test_a_fault_replaces_the_response_a_given_number_of_times(
    app: OAuthApp, fault: Fault, status: int, body: bytes
) -> None:
    code = app.code()
    app.tenant.inject_fault("token", fault)

    spoiled = app.exchange(code)

    assert (spoiled.status_code, body in spoiled.content) == (status, True)
    assert app.tenant.counts["exchanges"] == 0
    assert "access_token" in app.exchange(code).json()


def test_a_rate_limit_fault_has_retry_after(app: OAuthApp) -> None:
    app.tenant.inject_fault("token", Fault("busy", retry_after=7), times=None)

    assert [app.exchange("x").headers["Retry-After"] for _ in range(3)] == ["7"] * 3
    app.tenant.clear_faults()
    assert app.exchange("x").status_code == 400


@pytest.mark.parametrize("after", [False, True])
def test_a_connection_is_cut_before_or_after_the_work(app: OAuthApp, after: bool) -> None:
    tokens = app.connect()
    app.tenant.inject_fault("token", Fault("close", after=after))

    with pytest.raises(httpx2.RemoteProtocolError):
        app.refresh(tokens["refresh_token"])

    assert app.tenant.counts["refreshes"] == int(after)
    assert app.tenant.requests_to("token")[-1].status is None


@pytest.mark.parametrize("after", [False, True])
def test_a_request_can_be_held_before_or_after_its_work(app: OAuthApp, after: bool) -> None:
    result, responses = app.connect(), list[httpx2.Response]()
    app.tenant.inject_fault("token", Fault("hold", after=after))
    asking = threading.Thread(target=lambda: responses.append(app.refresh(result["refresh_token"])))
    asking.start()
    app.tenant.wait_until_held("token")

    assert (app.tenant.counts["refreshes"], responses) == (int(after), [])
    app.tenant.release_held()
    asking.join(20)
    assert "access_token" in responses[0].json()


def test_a_slow_response_arrives(app: OAuthApp) -> None:
    app.tenant.inject_fault("token", Fault("slow", seconds=0.05))

    assert "access_token" in app.connect()


def test_another_process_can_control_and_inspect_the_provider(app: OAuthApp) -> None:
    path = "/admin/tenants/acme"
    assert app.call("PATCH", path, json={"person": "Grace", "scopes_supported": ["read"]}).status_code == 200
    assert app.call("POST", f"{path}/faults", json={"endpoint": "token", "kind": "down", "times": 1}).status_code == 204
    assert app.exchange(app.code()).status_code == 503
    tokens = app.connect()
    body: dict[str, Any] = app.call("GET", path).json()
    assert (body["families"][0]["person"], body["live"]["access"]) == ("Grace", [tokens["access_token"]])
    assert (body["counts"]["exchanges"], body["requests"]["token"]) == (1, 2)

    assert app.call("POST", f"{path}/forget").status_code == 204
    assert app.me(tokens["access_token"]).status_code == 401

    seen = app.call("GET", "/admin/seen?tenant=acme&endpoint=token").json()
    assert [item["status"] for item in seen] == [503, 200]
    assert seen[1]["fields"]["client_id"] == "ours"
    assert app.call("DELETE", "/admin/seen").status_code == 204
    assert app.tenant.recorded_requests == []
    assert app.call("PATCH", path, json={"colour": "red"}).status_code == 422
    assert app.call("POST", f"{path}/faults", json={"kind": "down"}).status_code == 422


async def test_one_of_many_concurrent_refreshes_gets_the_tokens(app: OAuthApp) -> None:
    tokens = app.connect()
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": app.id, **app.more}
    async with many_callers(app.server.origin, "none") as client:
        responses = await asyncio.gather(*(client.post(app.paths[1], data=form) for _ in range(100)))

    assert sorted(response.status_code for response in responses) == [200, *[400] * 99]
    assert (app.tenant.counts["refreshes"], app.tenant.counts["reuses"]) == (1, 99)
    assert app.tenant.families[0].presented[0] == 100

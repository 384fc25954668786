"""An invalid callback stores nothing and sends no token request."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from api.access.context import partition_of
from api.kit.crypto.reencryption import rewrap
from api.main.container import Container
from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider
from tests.connections.browser_flow import (
    COOKIE,
    Callback,
    ConnectableServer,
    ConsentBrowser,
    mcp_server,
    result_of,
    service,
)
from tests.connections.workspace_owner import in_another_process
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, served

SCRIPT = "<script>alert('echoed')</script>"
MESSAGES = {"error_description": SCRIPT, "error_uri": "https://evil.example/echoed"}
Change = Callable[[Callback], Callback]

# What comes back in place of what the provider sent, and the code of ours for it.
CHANGES: dict[str, tuple[Change, str]] = {
    "no state": (lambda callback: callback.with_params(state=None), "expired"),
    "an empty state": (lambda callback: callback.with_params(state=""), "expired"),
    "the state twice": (lambda callback: callback.with_added(("state", callback["state"])), "expired"),
    "another state beside it": (lambda callback: callback.with_added(("state", "s" * 43)), "expired"),
    "a state of nobody": (lambda callback: callback.with_params(state="s" * 43), "expired"),
    "a state with a tail": (lambda callback: callback.with_params(state=callback["state"] + "A"), "expired"),
    "a state cut short": (lambda callback: callback.with_params(state=callback["state"][:-1]), "expired"),
    "a state in capitals": (lambda callback: callback.with_params(state=callback["state"].swapcase()), "expired"),
    "a state with a line end": (lambda callback: callback.with_params(state=callback["state"] + "\n"), "expired"),
    "a state beyond measure": (lambda callback: callback.with_params(state="s" * 9000), "expired"),
    "no code": (lambda callback: callback.with_params(code=None), "not_granted"),
    "an empty code": (lambda callback: callback.with_params(code=""), "not_granted"),
    "two codes": (lambda callback: callback.with_added(("code", "another")), "not_granted"),
    "a code beyond measure": (lambda callback: callback.with_params(code="c" * 4097), "not_granted"),
    "a denial": (lambda callback: callback.with_params(code=None, error="access_denied", **MESSAGES), "denied"),
    "a denial beside a code": (lambda callback: callback.with_params(error="access_denied", **MESSAGES), "denied"),
    "another error": (
        lambda callback: callback.with_params(code=None, error="invalid_scope", **MESSAGES),
        "not_granted",
    ),
    "an error that is a script": (lambda callback: callback.with_params(code=None, error=SCRIPT), "not_granted"),
    "an empty error": (lambda callback: callback.with_params(error=""), "not_granted"),
    "two errors": (
        lambda callback: callback.with_added(("error", "access_denied"), ("error", "echoed")),
        "not_granted",
    ),
}
# The same for an authorization server that has promised to name itself.
NAMED: dict[str, tuple[Change, str]] = {
    "no iss": (lambda callback: callback.with_params(iss=None), "wrong_issuer"),
    "an empty iss": (lambda callback: callback.with_params(iss=""), "wrong_issuer"),
    "another iss": (lambda callback: callback.with_params(iss="https://evil.example"), "wrong_issuer"),
    "an iss that is a script": (lambda callback: callback.with_params(iss=SCRIPT), "wrong_issuer"),
    "an iss with a slash more": (lambda callback: callback.with_params(iss=callback["iss"] + "/"), "wrong_issuer"),
    "an iss in capitals": (lambda callback: callback.with_params(iss=callback["iss"].upper()), "wrong_issuer"),
    "an iss with another spelling of its host": (
        lambda callback: callback.with_params(iss=callback["iss"].replace("127.0.0.1", "127.1")),
        "wrong_issuer",
    ),
    "an iss that is escaped": (
        lambda callback: callback.with_params(iss=callback["iss"].replace("/mcp-as", "/%6dcp-as")),
        "wrong_issuer",
    ),
    "the iss twice": (lambda callback: callback.with_added(("iss", callback["iss"])), "wrong_issuer"),
    "another iss beside it": (lambda callback: callback.with_added(("iss", "https://evil.example")), "wrong_issuer"),
    "a denial of somebody else": (
        lambda callback: callback.with_params(code=None, error="access_denied", iss="https://evil.example"),
        "wrong_issuer",
    ),
    "a denial without iss": (
        lambda callback: callback.with_params(code=None, error="access_denied", iss=None),
        "wrong_issuer",
    ),
    "the path of a service": (
        lambda callback: callback.at(callback.path.replace("external", "notion")),
        "other_service",
    ),
    "the path of another issuer": (lambda callback: callback.at(f"{callback.path}/0123456789abcdef"), "other_service"),
    "a path of no service": (
        lambda callback: callback.at(callback.path.replace("external", "nobody")),
        "other_service",
    ),
    "a path that only reads the same": (
        lambda callback: callback.at(callback.path.replace("external", "External")),
        "other_service",
    ),
}


def assert_refused(server: ConnectableServer, visitor: ConsentBrowser, callback: Callback, code: str) -> None:
    response = visitor.land(callback)

    assert result_of(response) == {"error": code}
    assert response.content == b""
    page = visitor.sent("GET", response.headers["Location"])
    assert page.status_code == 400
    for text in (str(response.headers), str(page.headers), page.text):
        assert "echoed" not in text
        assert "evil" not in text
        assert server.tenant.origin not in text
    server.assert_untouched()


@pytest.mark.requirement("OAU-01", "OAU-05")
@pytest.mark.parametrize(("change", "code"), CHANGES.values(), ids=CHANGES.keys())
def test_an_invalid_callback_connects_nothing(
    plugboard: Plugboard, provider: OAuthProvider, change: Change, code: str
) -> None:
    server, visitor = service(plugboard, provider), ConsentBrowser(plugboard)

    assert_refused(server, visitor, change(visitor.consent(server.page())), code)


@pytest.mark.requirement("OAU-04")
@pytest.mark.parametrize(("change", "code"), NAMED.values(), ids=NAMED.keys())
def test_a_promised_iss_is_required(plugboard: Plugboard, provider: OAuthProvider, change: Change, code: str) -> None:
    server, visitor = mcp_server(plugboard, provider.tenant("acme")), ConsentBrowser(plugboard)

    assert_refused(server, visitor, change(visitor.consent(server.page())), code)


@pytest.mark.requirement("OAU-04")
@pytest.mark.parametrize("iss", ["https://evil.example", "", SCRIPT])
def test_an_unpromised_iss_must_not_name_another_issuer(
    plugboard: Plugboard, provider: OAuthProvider, iss: str
) -> None:
    acme = provider.tenant("acme")
    acme.configure(promises_iss=False)
    server, visitor = mcp_server(plugboard, acme), ConsentBrowser(plugboard)

    assert_refused(server, visitor, visitor.consent(server.page()).with_params(iss=iss), "wrong_issuer")


@pytest.mark.requirement("OAU-04")
def test_an_unpromised_iss_may_name_the_issuer(plugboard: Plugboard, provider: OAuthProvider) -> None:
    acme = provider.tenant("acme")
    acme.configure(promises_iss=False)
    server, visitor = mcp_server(plugboard, acme), ConsentBrowser(plugboard)

    assert result_of(visitor.land(visitor.consent(server.page()).with_params(iss=acme.issuer))) == {
        "connected": server.id
    }


@pytest.mark.requirement("OAU-04")
@pytest.mark.parametrize("suffix", ["", f"/{'0123456789abcdef' * 2}", f"/{'0123456789ABCDEF' * 2}"])
def test_an_issuer_without_iss_has_its_own_redirect_uri(
    plugboard: Plugboard, provider: OAuthProvider, suffix: str
) -> None:
    acme = provider.tenant("acme")
    acme.configure(promises_iss=False)
    server, visitor = mcp_server(plugboard, acme), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())
    shared, _, own = callback.path.rpartition("/")

    assert shared == "/api/mcp/oauth/external/callback"
    assert len(own) == 32
    assert_refused(server, visitor, callback.at(shared + suffix), "other_service")


@pytest.mark.requirement("OAU-05")
@pytest.mark.parametrize("error", ["access_denied", "server_error", SCRIPT])
def test_a_refusal_uses_up_the_state(plugboard: Plugboard, provider: OAuthProvider, error: str) -> None:
    server, visitor = service(plugboard, provider), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    visitor.land(callback.with_params(code=None, error=error))

    assert_refused(server, visitor, callback, "expired")


@pytest.mark.requirement("OAU-01")
@pytest.mark.parametrize("change", ["iss", "path", "code", "browser"])
def test_every_failed_callback_uses_up_the_state(plugboard: Plugboard, provider: OAuthProvider, change: str) -> None:
    server, visitor = mcp_server(plugboard, provider.tenant("acme")), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())
    wrong = {
        "iss": callback.with_params(iss="x"),
        "path": callback.at(f"{callback.path}/0123456789abcdef"),
        "code": callback.with_params(code=None),
    }

    (ConsentBrowser(plugboard) if change == "browser" else visitor).land(wrong.get(change, callback))

    assert_refused(server, visitor, callback, "expired")


@pytest.mark.requirement("OAU-01")
def test_a_state_is_valid_once(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server, visitor = service(plugboard, provider), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())
    assert result_of(visitor.land(callback)) == {"connected": server.id}

    again = visitor.land(callback)

    assert result_of(again) == {"error": "expired"}
    assert len(server.tenant.requests_to("token")) == 1
    assert server.status()["connected"] is True


@pytest.mark.requirement("OAU-01")
def test_one_of_twenty_simultaneous_callbacks_with_one_state_connects(
    plugboard: Plugboard, provider: OAuthProvider
) -> None:
    server, visitor = service(plugboard, provider), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    with ThreadPoolExecutor(20) as pool:
        responses = [result_of(item) for item in pool.map(lambda _: visitor.land(callback), range(20))]

    assert sorted(responses, key=str) == [{"connected": server.id}, *[{"error": "expired"}] * 19]
    assert (len(server.tenant.requests_to("token")), server.tenant.counts["code_reuses"]) == (1, 0)
    assert server.events().count("server.connected") == 1


@pytest.mark.requirement("OAU-01")
@pytest.mark.parametrize("seconds", [599.0, 600.0, 86_400.0])
def test_a_state_is_valid_for_ten_minutes(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock, seconds: float
) -> None:
    server, visitor = service(timed, provider), ConsentBrowser(timed)
    callback = visitor.consent(server.page())

    clock.advance(seconds)

    if seconds < 600:
        assert result_of(visitor.land(callback)) == {"connected": server.id}
    else:
        assert_refused(server, visitor, callback, "expired")


@pytest.mark.requirement("OAU-01")
@pytest.mark.parametrize(
    "cookies",
    [
        {},
        {COOKIE: ""},
        {COOKIE: "s" * 43},
        {COOKIE: "s" * 44},
        {f"__Host-{COOKIE}": "the right one"},
        {COOKIE.upper(): "the right one"},
        {f"{COOKIE}2": "the right one"},
        {f"x{COOKIE}": "the right one"},
    ],
    ids=str,
)
def test_only_the_browser_that_started_can_finish(
    plugboard: Plugboard, provider: OAuthProvider, cookies: dict[str, str]
) -> None:
    server, went = service(plugboard, provider), ConsentBrowser(plugboard)
    callback = went.consent(server.page())
    theirs = {name: went.cookies[COOKIE] if value == "the right one" else value for name, value in cookies.items()}

    assert_refused(server, ConsentBrowser(plugboard, cookies=theirs), callback, "other_browser")


@pytest.mark.requirement("OAU-01")
def test_the_cookie_of_another_flow_is_refused(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server, went, other = service(plugboard, provider), ConsentBrowser(plugboard), ConsentBrowser(plugboard)
    other.consent(service(plugboard, provider).page())

    assert_refused(server, other, went.consent(server.page()), "other_browser")


@pytest.mark.requirement("OAU-01")
def test_a_state_and_a_cookie_of_another_installation_are_refused(
    plugboard: Plugboard, provider: OAuthProvider, tmp_path: Path
) -> None:
    with served(replace(plugboard.settings, data_dir=tmp_path)) as elsewhere:
        visitor = ConsentBrowser(elsewhere)
        theirs = visitor.consent(service(elsewhere, provider).page())
    server = service(plugboard, provider)

    assert_refused(server, ConsentBrowser(plugboard, cookies=visitor.cookies), theirs, "expired")


@pytest.mark.requirement("OAU-01")
def test_a_state_connects_only_its_own_server(plugboard: Plugboard, provider: OAuthProvider) -> None:
    one, other, visitor = service(plugboard, provider), service(plugboard, provider), ConsentBrowser(plugboard)
    callback, unused = visitor.consent(one.page()), visitor.consent(other.page())

    assert result_of(visitor.land(callback.with_params(code=unused["code"]))) == {"connected": one.id}
    other.assert_not_connected()


@pytest.mark.requirement("OAU-02")
def test_a_state_is_random(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server, visitor = service(plugboard, provider), ConsentBrowser(plugboard)

    states = {visitor.consent(server.page())["state"] for _ in range(20)}

    assert len(states) == 20
    assert {len(state) for state in states} == {43}
    assert not states & {visitor.cookies[COOKIE], server.page().rpartition("/")[2]}
    responses = [plugboard.caller(state).get(server.path).status_code for state in states]
    assert set(responses) == {401}


@pytest.mark.requirement("OAU-01")
@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_the_callback_accepts_only_get(plugboard: Plugboard, provider: OAuthProvider, method: str) -> None:
    server, visitor = service(plugboard, provider), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    response = visitor.land(callback, method)

    assert response.status_code == (204 if method == "OPTIONS" else 405)
    server.assert_untouched()
    assert result_of(visitor.land(callback)) == {"connected": server.id}


def test_a_consent_can_finish_in_another_process(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server, visitor = mcp_server(plugboard, provider.tenant("acme")), ConsentBrowser(plugboard)
    callback = visitor.consent(server.page())

    with served(plugboard.settings) as second:
        response = ConsentBrowser(second, cookies=visitor.cookies).land(callback)

    assert result_of(response) == {"connected": server.id}
    assert server.call()["isError"] is False


def test_a_consent_started_under_destroyed_keys_must_start_again(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server, visitor = mcp_server(plugboard, provider.tenant("acme")), ConsentBrowser(plugboard)
    callback, partition = visitor.consent(server.page()), partition_of(server.workspace.id)

    async def rewrapped(parts: Container) -> None:
        await parts.key_ring.rotate(partition)
        await rewrap(parts.store, parts.key_ring, partition)

    in_another_process(plugboard, rewrapped)

    with served(plugboard.settings) as second:
        visitor = ConsentBrowser(second, cookies=visitor.cookies)
        assert result_of(visitor.land(callback)) == {"error": "expired"}
        server.assert_untouched()
        assert result_of(visitor.land(visitor.consent(server.page()))) == {"connected": server.id}


def test_a_callback_for_an_unconfigured_service_is_refused(provider: OAuthProvider, tmp_path: Path) -> None:
    with served(Settings(data_dir=tmp_path)) as bare:
        response = ConsentBrowser(bare).sent("GET", "/api/mcp/oauth/notion/callback?code=c&state=s")

    assert result_of(response) == {"error": "expired"}
    assert provider.recorded_requests == []

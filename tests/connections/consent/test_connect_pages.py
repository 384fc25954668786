"""What a person sees of connecting: the page with one button, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from api.connections.consent.html import FAILURES, UNKNOWN
from api.main.settings import InvalidSetting, Settings
from demo.oauth_provider.server import OAuthProvider
from tests.connections.browser_flow import (
    COOKIE,
    ConnectableServer,
    ConsentBrowser,
    callback_from,
    facts_on,
    mcp_server,
    result_of,
    service,
)
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, served

MARKUP = "<b>\"Bobby\"</b> & 'Co'</dd><script>alert(1)</script>"
SAFE = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
NOT_OURS = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8400"},
    {"Sec-Fetch-Site": "unheard-of"},
    {"Sec-Fetch-Site": ""},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://127.0.0.1:8401"},
    {"Origin": "https://127.0.0.1:8400"},
    {"Origin": "http://127.0.0.1:8400.evil.example"},
    {"Origin": "http://127.0.0.1:8400/"},
]
OURS = [
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    {"Origin": "http://127.0.0.1:8400"},
    {},
]


@pytest.fixture
def server(plugboard: Plugboard, provider: OAuthProvider) -> ConnectableServer:
    return mcp_server(plugboard, provider.tenant("acme"))


@pytest.fixture(scope="module")
def behind_tls(one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    environment = one_provider.environment() | {
        "PLUGBOARD_DATA_DIR": str(tmp_path_factory.mktemp("behind-tls")),
        "OAUTH_REDIRECT_BASE_URL": "https://plugboard.test",
    }
    with served(Settings.from_environment(environment)) as plugboard:
        yield plugboard


def test_the_page_names_the_workspace_the_scopes_and_the_provider(
    plugboard: Plugboard, provider: OAuthProvider
) -> None:
    server = service(plugboard, provider, "hubspot", name="Our CRM")

    page = ConsentBrowser(plugboard).sent("GET", server.page())

    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert facts_on(page.text) == {
        "Workspace": "Acme",
        "Server": "Our CRM",
        "Service": "HubSpot",
        "Sign-in at": provider.origin.removeprefix("http://"),
        "Access": "crm.objects.contacts.read, crm.objects.companies.read, crm.objects.deals.read, "
        "crm.objects.owners.read, oauth",
    }


def test_the_page_of_a_remote_server_shows_the_same_facts(plugboard: Plugboard, server: ConnectableServer) -> None:
    page = ConsentBrowser(plugboard).sent("GET", server.page())

    assert facts_on(page.text) == {
        "Workspace": "Acme",
        "Server": "Acme",
        "Service": "a remote MCP server",
        "Sign-in at": server.tenant.origin.removeprefix("http://"),
        "Used at": server.tenant.origin.removeprefix("http://"),
        "Access": "read, admin",
    }


def test_a_name_is_escaped_on_the_page(plugboard: Plugboard, provider: OAuthProvider) -> None:
    workspace, acme = plugboard.make_workspace(MARKUP), provider.tenant("acme")
    acme.configure(scopes_supported=("<script>alert(2)</script>",))
    server = mcp_server(plugboard, acme, workspace, name=MARKUP)

    page = ConsentBrowser(plugboard).sent("GET", server.page()).text

    assert "<script" not in page
    assert "<b>" not in page
    shown = facts_on(page)
    assert (shown["Workspace"], shown["Server"], shown["Access"]) == (MARKUP, MARKUP, "<script>alert(2)</script>")


def test_the_page_can_be_shown_repeatedly_and_sets_no_cookie(server: ConnectableServer) -> None:
    path, visitor = server.page(), ConsentBrowser(server.plugboard)

    shown = [visitor.sent(method, path) for method in ("GET", "HEAD", "GET")]

    assert [(item.status_code, "Set-Cookie" in item.headers) for item in shown] == [(200, False)] * 3
    assert result_of(visitor.land(visitor.consent(path))) == {"connected": server.id}


@pytest.mark.requirement("OAU-01")
def test_a_page_redirects_once(server: ConnectableServer) -> None:
    visitor, path = ConsentBrowser(server.plugboard), server.page()
    visitor.go(path)

    assert result_of(visitor.press(path)) == {"error": "expired"}
    assert result_of(visitor.sent("GET", path)) == {"error": "expired"}


@pytest.mark.requirement("OAU-01")
def test_one_of_twenty_simultaneous_presses_of_the_button_is_redirected(server: ConnectableServer) -> None:
    path = server.page()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: ConsentBrowser(server.plugboard).press(path), range(20)))

    places = [response.headers["Location"] for response in answers]
    assert places.count("/connected?error=expired") == 19
    assert sum("Set-Cookie" in response.headers for response in answers) == 1


@pytest.mark.requirement("OAU-01")
@pytest.mark.parametrize(("seconds", "is_good"), [(599.0, True), (600.0, False), (86_400.0, False)])
def test_a_page_is_valid_for_ten_minutes(
    timed: Plugboard, provider: OAuthProvider, clock: StillClock, seconds: float, is_good: bool
) -> None:
    server, visitor = service(timed, provider), ConsentBrowser(timed)
    path = server.page()

    clock.advance(seconds)

    assert visitor.sent("GET", path).status_code == (200 if is_good else 303)
    onward = visitor.press(path).headers["Location"]
    assert onward.startswith(provider.origin) if is_good else onward == "/connected?error=expired"


@pytest.mark.parametrize("ticket", ["s" * 43, "s" * 42, "s" * 44, "%00", "s" * 42 + "%0A", "ü" * 43])
def test_the_page_of_an_unknown_ticket_has_expired(plugboard: Plugboard, ticket: str) -> None:
    visitor = ConsentBrowser(plugboard)

    responses = [visitor.sent("GET", f"/connect/{ticket}"), visitor.press(f"/connect/{ticket}")]

    assert [result_of(response) for response in responses] == [{"error": "expired"}] * 2


@pytest.mark.requirement("OAU-01")
@pytest.mark.parametrize("headers", NOT_OURS, ids=str)
def test_a_form_of_another_site_is_refused(server: ConnectableServer, headers: dict[str, str]) -> None:
    visitor, path = ConsentBrowser(server.plugboard), server.page()

    response = visitor.sent("POST", path, **headers)

    assert result_of(response) == {"error": "foreign_form"}
    assert visitor.cookies == {}
    assert result_of(visitor.land(visitor.consent(path))) == {"connected": server.id}


@pytest.mark.parametrize("headers", OURS, ids=str)
def test_our_own_form_redirects_to_the_provider(server: ConnectableServer, headers: dict[str, str]) -> None:
    response = ConsentBrowser(server.plugboard).sent("POST", server.page(), **headers)

    assert response.status_code == 303
    assert response.headers["Location"].startswith(f"{server.tenant.issuer}/authorize?")


def test_a_browser_sends_our_origin_with_the_form_without_a_referrer(server: ConnectableServer) -> None:
    """Under `no-referrer` alone it would send `Origin: null`, and over plain http no `Sec-Fetch-Site` beside it."""
    page = ConsentBrowser(server.plugboard).sent("GET", server.page())

    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert '<meta name="referrer" content="same-origin">' in page.text


@pytest.mark.requirement("OAU-01")
def test_the_cookie_is_http_only_and_same_site(server: ConnectableServer) -> None:
    (cookie,) = ConsentBrowser(server.plugboard).press(server.page()).headers.get_list("Set-Cookie")

    name, _, rest = cookie.partition("=")
    assert name == COOKIE
    assert rest.partition("; ")[2] == "Path=/; Max-Age=600; HttpOnly; SameSite=Lax"


@pytest.mark.requirement("OAU-01")
def test_behind_tls_no_other_host_can_set_the_cookie(behind_tls: Plugboard, provider: OAuthProvider) -> None:
    server, visitor = service(behind_tls, provider), ConsentBrowser(behind_tls)
    path = server.page()

    (cookie,) = visitor.press(path, Origin="https://plugboard.test").headers.get_list("Set-Cookie")

    name, _, rest = cookie.partition("=")
    assert name == f"__Host-{COOKIE}"
    assert rest.partition("; ")[2] == "Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"


@pytest.mark.requirement("OAU-01")
def test_behind_tls_a_cookie_without_the_host_prefix_is_ignored(behind_tls: Plugboard, provider: OAuthProvider) -> None:
    server, went = service(behind_tls, provider), ConsentBrowser(behind_tls)
    callback = went.consent(server.page())
    planted = ConsentBrowser(behind_tls, cookies={COOKIE: went.cookies[f"__Host-{COOKIE}"]})

    assert result_of(planted.land(callback)) == {"error": "other_browser"}
    server.assert_untouched()


def test_two_connects_in_one_browser_both_finish(plugboard: Plugboard, provider: OAuthProvider) -> None:
    one, other, visitor = service(plugboard, provider), service(plugboard, provider, "slack"), ConsentBrowser(plugboard)
    first, second = visitor.consent(one.page()), visitor.consent(other.page())

    assert result_of(visitor.land(second)) == {"connected": other.id}
    assert result_of(visitor.land(first)) == {"connected": one.id}


def test_each_of_several_cookies_of_the_name_is_checked(server: ConnectableServer) -> None:
    visitor = ConsentBrowser(server.plugboard)
    callback = visitor.consent(server.page())
    both = f"{COOKIE}={'x' * 43}; other=1; {COOKIE}={visitor.cookies[COOKIE]}"

    assert result_of(server.plugboard.caller(Cookie=both).get(callback.url)) == {"connected": server.id}


def test_a_foreign_cookie_is_replaced(server: ConnectableServer) -> None:
    visitor = ConsentBrowser(server.plugboard, cookies={COOKIE: "planted"})

    callback = callback_from(visitor.go(server.page()))

    assert visitor.cookies[COOKIE] != "planted"
    assert result_of(visitor.land(callback)) == {"connected": server.id}


@pytest.mark.parametrize("code", FAILURES)
def test_every_failure_has_a_page_that_says_what_to_do(plugboard: Plugboard, code: str) -> None:
    page = plugboard.caller().get("/connected", params={"error": code})

    assert page.status_code == 400
    assert ("<h1>This link is no longer valid</h1>" if code == "expired" else "<h1>Not connected</h1>") in page.text
    assert len(FAILURES[code]) > 40


@pytest.mark.requirement("OAU-05")
@pytest.mark.parametrize("code", ["", "<script>alert(1)</script>", "Denied", "expired2", "e" * 5000])
def test_an_unknown_error_code_is_not_echoed(plugboard: Plugboard, code: str) -> None:
    page = plugboard.caller().get("/connected", params={"error": code})

    assert page.status_code == 400
    assert UNKNOWN in page.text
    assert "<script" not in page.text


def test_the_last_page_confirms_the_connection(plugboard: Plugboard) -> None:
    page = plugboard.caller().get("/connected?connected=<b>whatever</b>")

    assert page.status_code == 200
    assert "The server is connected." in page.text
    assert "whatever" not in page.text


def test_an_error_does_not_look_like_success(plugboard: Plugboard) -> None:
    """A return URL may be this page with additional query parameters."""
    page = plugboard.caller().get("/connected?connected=1&error=denied")

    assert page.status_code == 400
    assert "The server is connected." not in page.text


@pytest.mark.requirement("OAU-20")
def test_every_page_and_redirect_has_security_headers(server: ConnectableServer) -> None:
    visitor, path = ConsentBrowser(server.plugboard), server.page()
    shown, onward = visitor.sent("GET", path), visitor.press(path)
    landed = visitor.land(callback_from(onward.headers["Location"]))
    again = visitor.sent("GET", landed.headers["Location"])

    for response in (shown, onward, landed, again):
        assert {name: response.headers[name] for name in SAFE} == SAFE
    assert landed.headers["Location"] == f"/connected?connected={server.id}"


def test_cancel_returns_with_the_outcome_and_uses_up_the_link(plugboard: Plugboard, server: ConnectableServer) -> None:
    visitor = ConsentBrowser(plugboard)
    page = server.page(returnTo="/servers?tab=all#top")
    assert '<button formaction="?cancel=true">Cancel</button>' in visitor.sent("GET", page).text

    cancelled = visitor.press(f"{page}?cancel=true")
    again = visitor.press(page)

    assert cancelled.status_code == 303
    assert cancelled.headers["Location"] == f"/servers?tab=all&error=denied&serverId={server.id}#top"
    assert again.headers["Location"] == "/connected?error=expired"
    assert server.tenant.requests_to("authorize") == []
    server.assert_untouched()


@pytest.mark.parametrize("headers", NOT_OURS[:3], ids=str)
def test_another_site_cannot_cancel(plugboard: Plugboard, server: ConnectableServer, headers: dict[str, str]) -> None:
    page = server.page()

    refused = ConsentBrowser(plugboard).sent("POST", f"{page}?cancel=true", **headers)

    assert result_of(refused) == {"error": "foreign_form"}
    assert result_of(_landed(plugboard, page)) == {"connected": server.id}


def test_a_key_without_rights_leads_back_to_the_program(plugboard: Plugboard, server: ConnectableServer) -> None:
    workspace = server.workspace
    key = workspace.admin.post(f"{workspace.path}/api-keys", json={"name": "short", "scope": "manage"}).json()
    starter = plugboard.caller(key["apiKey"])
    page = starter.get(f"{server.path}/oauth/authorize", params={"returnTo": "/servers"}).json()["authUrl"]
    assert workspace.admin.delete(f"{workspace.path}/api-keys/{key['id']}").status_code == 204
    visitor = ConsentBrowser(plugboard)

    responses = [visitor.sent("GET", urlsplit(page).path), visitor.press(urlsplit(page).path)]

    place = f"/servers?error=not_allowed&serverId={server.id}"
    assert [response.headers["Location"] for response in responses] == [place, place]


@pytest.mark.parametrize(("color", "text_color"), [("#0a3f5c", "#ffffff"), ("#ffd900", "#000000")])
def test_the_pages_have_the_operators_name_and_colour(
    provider: OAuthProvider, tmp_path: Path, color: str, text_color: str
) -> None:
    environment = provider.environment() | {
        "PLUGBOARD_DATA_DIR": str(tmp_path),
        "PLUGBOARD_BRAND_NAME": "Ada & <Co>",
        "PLUGBOARD_BRAND_COLOR": color,
    }
    with served(Settings.from_environment(environment)) as branded:
        visitor, server = ConsentBrowser(branded), mcp_server(branded, provider.tenant("acme"))
        pages = [visitor.sent("GET", server.page()).text, visitor.sent("GET", "/connected?error=denied").text]

    assert "<h1>Connect a remote MCP server to Acme</h1>" in pages[0]
    for page in pages:
        assert "<header>Ada &amp; &lt;Co&gt;</header>" in page
        assert " · Ada &amp; &lt;Co&gt;</title>" in page
        assert f"button:not([formaction]) {{ background: {color}; color: {text_color}; }}" in page


@pytest.mark.parametrize(
    ("name", "text"),
    [("PLUGBOARD_BRAND_COLOR", "red"), ("PLUGBOARD_BRAND_COLOR", "#fff;}"), ("PLUGBOARD_BRAND_NAME", "x" * 61)],
)
def test_a_brand_that_cannot_be_shown_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidSetting, match=name):
        Settings.from_environment({name: text})


@pytest.mark.parametrize("code", [*FAILURES, "unheard-of"])
def test_each_page_of_a_failure_says_what_to_do_next(plugboard: Plugboard, code: str) -> None:
    page = ConsentBrowser(plugboard).sent("GET", f"/connected?error={code}").text

    assert re.search(r"[Ss]tart again|[Cc]onnect again|Open the link again|Do not connect", page)


def _landed(plugboard: Plugboard, page: str) -> httpx2.Response:
    visitor = ConsentBrowser(plugboard)
    return visitor.land(visitor.consent(page))

"""Return URLs after Connect: a path of Plugboard, or an origin that the operator allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.connections.consent.return_to import check_return_to, result_url
from api.errors import ValidationFailed
from api.main.settings import Settings
from demo.oauth_provider.server import OAuthProvider
from tests.connections.browser_flow import PUBLIC, ConnectableServer, ConsentBrowser, mcp_server, service
from tests.harness import Plugboard, error_paths, served

CONSOLE = "https://console.example.com"
LOCAL = "http://localhost:3000"
ORIGINS = frozenset({CONSOLE, LOCAL})

REFUSED = [
    "",
    " ",
    "servers",
    "./servers",
    "../servers",
    "?a=b",
    "#top",
    ".",
    "..",
    "\\",
    "\\\\evil.example",
    "//evil.example",
    "///evil.example",
    "////evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "/\\/evil.example",
    "//evil.example/%2e%2e",
    "//evil.example@console.example.com",
    "/%2fevil.example",
    "/%2Fevil.example",
    "/%5cevil.example",
    "/%5Cevil.example",
    "/%09/evil.example",
    "/%0a/evil.example",
    "/%0d%0aLocation:%20//evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r/evil.example",
    "\t//evil.example",
    " //evil.example",
    "\x00//evil.example",
    "/a//evil.example",
    "/.//evil.example",
    "/..//evil.example",
    "/a/..//evil.example",
    "/a\\evil.example",
    "/servers\n",
    "/servers\r\nSet-Cookie: a=b",
    "/servers\x00",
    "/sérvers",
    "/\uff0fevil.example",
    "/\u2028evil.example",
    "/servers?a=<script>",
    '/servers?a="b"',
    "/servers?a=b c",
    "/servers?a=b\\c",
    "/servers#top\\a",
    "/servers#a#b",
    "https://evil.example",
    "https://evil.example/servers",
    "http://console.example.com",
    "https://console.example.com:444",
    "https://console.example.com.evil.example",
    "https://evil.example/https://console.example.com",
    "https://console.example.com@evil.example",
    "https://console.example.com:443@evil.example",
    "https://user@console.example.com",
    "https://console.example.com\\evil.example",
    "https://console.example.com\\@evil.example",
    "https:console.example.com",
    "https:/console.example.com",
    "https:///console.example.com",
    "https:\\\\console.example.com",
    "//console.example.com",
    "https://CONSOLE.example.com",
    "HTTPS://console.example.com",
    "https://console.example.com.",
    "https://console。example.com",
    "https://console.example.com//evil.example",
    "https://console.example.com/%2fevil.example",
    "https://console.example.com/\\evil.example",
    "https://console.example.com\n",
    "https://console.example.com/\n",
    "http://localhost",
    "http://localhost:30000",
    "http://localhost:3000@evil.example",
    "https://localhost:3000",
    "javascript:alert(1)",
    "javascript://console.example.com/%0aalert(1)",
    "data:text/html,hi",
    "vbscript:x",
    "file:///etc",
    "mailto:a@example.com",
    "//",
    "/" * 10,
    "/" + "a" * 1000,
    "https://console.example.com/" + "a" * 1000,
]
GOOD = [
    "/",
    "/servers",
    "/servers/",
    "/servers/server_1",
    "/servers?tab=all",
    "/servers?a=b&c=d",
    "/?a",
    "/a.b-c_d~e",
    "/servers?next=/agents",
    "/servers?u=https://evil.example",
    "/a/../b",
    "/@evil.example",
    "/;a=b",
    "/a%20b",
    "/a:b",
    "/servers?a=%0a",
    "/servers?a=//b",
    "/" + "a" * 999,
    "/!$&'()*+,;=:@",
    "/servers#top",
    "/servers?a=b#c",
    f"{CONSOLE}#top",
    "/#/servers/server_1?tab=all",
    f"{CONSOLE}/servers#/a//b",
    CONSOLE,
    f"{CONSOLE}/",
    f"{CONSOLE}/servers",
    f"{CONSOLE}/servers?tab=all",
    LOCAL,
    f"{LOCAL}/a/b?c=d",
]


@pytest.fixture(scope="module")
def with_console(one_provider: OAuthProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugboard]:
    environment = one_provider.environment() | {
        "PLUGBOARD_DATA_DIR": str(tmp_path_factory.mktemp("with-console")),
        "PLUGBOARD_RETURN_ORIGINS": f"{CONSOLE}, {LOCAL}",
    }
    with served(Settings.from_environment(environment)) as plugboard:
        yield plugboard


@pytest.fixture
def server(with_console: Plugboard, provider: OAuthProvider) -> ConnectableServer:
    return service(with_console, provider)


def test_the_corpus_is_large_and_has_no_duplicate() -> None:
    assert len(REFUSED) >= 75
    assert len(GOOD) >= 20
    assert len({*REFUSED, *GOOD}) == len(REFUSED) + len(GOOD)


@pytest.mark.requirement("OAU-06")
@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_a_return_url_at_a_foreign_origin_is_refused(text: str) -> None:
    with pytest.raises(ValidationFailed):
        check_return_to(text, ORIGINS)


@pytest.mark.requirement("OAU-06")
@pytest.mark.parametrize("text", GOOD, ids=ascii)
def test_an_allowed_return_url_is_kept_unchanged(text: str) -> None:
    assert check_return_to(text, ORIGINS) == text


@pytest.mark.requirement("OAU-06")
def test_a_hostile_return_url_is_refused_at_the_start(server: ConnectableServer) -> None:
    for text in REFUSED:
        assert error_paths(server.start(returnTo=text)) == ["returnTo"], text

    assert server.tenant.recorded_requests == []


@pytest.mark.requirement("OAU-06")
@pytest.mark.parametrize("place", ["/servers", "/servers?tab=all", CONSOLE, f"{CONSOLE}/servers?tab=all", LOCAL])
def test_the_browser_returns_with_the_outcome(server: ConnectableServer, place: str) -> None:
    visitor = ConsentBrowser(server.plugboard)
    joined = "&" if "?" in place else "?"

    landed = visitor.land(visitor.consent(server.page(returnTo=place)))
    denied = visitor.land(visitor.consent(server.page(returnTo=place)).with_params(code=None, error="access_denied"))

    assert landed.headers["Location"] == f"{place}{joined}connected={server.id}"
    assert denied.headers["Location"] == f"{place}{joined}error=denied&serverId={server.id}"


@pytest.mark.parametrize(
    ("place", "landed"),
    [
        ("/#/servers", "/?connected={}#/servers"),
        ("/servers?tab=all#top", "/servers?tab=all&connected={}#top"),
        (f"{CONSOLE}/#a?b=c", f"{CONSOLE}/?connected={{}}#a?b=c"),
    ],
)
def test_the_outcome_stands_before_the_fragment(server: ConnectableServer, place: str, landed: str) -> None:
    visitor = ConsentBrowser(server.plugboard)

    response = visitor.land(visitor.consent(server.page(returnTo=place)))

    assert response.headers["Location"] == landed.format(server.id)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/" + "a" * 1000, "At most 1000 characters"),
        ("/servers?a=b c", "has a character that no URL has"),
        ("/sérvers", "has a character that no URL has"),
        ("/%2fevil.example", "encoded slash"),
        ("/a//b", "empty segment"),
        ("servers", "Must be a path of Plugboard that begins with `/`"),
        ("https://user@console.example.com", "without user name"),
        ("https://evil.example/servers", "The origin https://evil.example is not allowed. The operator can add it to"),
        ("http://console.example.com", "The origin http://console.example.com is not allowed"),
    ],
)
def test_each_reason_for_refusing_a_return_url_is_named(server: ConnectableServer, text: str, reason: str) -> None:
    (error,) = server.start(returnTo=text).json()["errors"]

    assert error["path"] == "returnTo"
    assert reason in error["message"]


@pytest.mark.requirement("OAU-06")
def test_a_browser_that_is_not_the_one_that_started_is_sent_to_our_own_page(server: ConnectableServer) -> None:
    visitor = ConsentBrowser(server.plugboard)
    callback = visitor.consent(server.page(returnTo=f"{CONSOLE}/servers"))

    responses = [ConsentBrowser(server.plugboard).land(callback), visitor.land(callback)]

    assert [response.headers["Location"] for response in responses] == [
        "/connected?error=other_browser",
        "/connected?error=expired",
    ]


@pytest.mark.requirement("OAU-06")
@pytest.mark.parametrize("name", ["returnTo", "return_to", "next", "redirect_uri", "url"])
def test_parameters_added_to_the_callback_do_not_change_the_return_url(server: ConnectableServer, name: str) -> None:
    visitor = ConsentBrowser(server.plugboard)
    callback = visitor.consent(server.page()).with_added((name, "https://evil.example"))

    assert visitor.land(callback).headers["Location"] == f"/connected?connected={server.id}"


def test_without_configured_origins_only_this_service_is_allowed(plugboard: Plugboard, provider: OAuthProvider) -> None:
    server = service(plugboard, provider)

    assert server.start(returnTo="/servers").status_code == 200
    assert error_paths(server.start(returnTo=f"{CONSOLE}/servers")) == ["returnTo"]
    assert server.start(returnTo=f"{PUBLIC}/servers").status_code == 200  # it is this very service


@pytest.mark.requirement("OAU-07")
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "444"},
        {"Forwarded": "host=evil.example;proto=https"},
        {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Original-URL": "/evil", "X-Rewrite-URL": "/e"},
    ],
    ids=str,
)
def test_the_host_header_changes_nothing(
    plugboard: Plugboard, provider: OAuthProvider, headers: dict[str, str]
) -> None:
    server, visitor = mcp_server(plugboard, provider.tenant("acme")), ConsentBrowser(plugboard)

    begun = server.workspace.admin.get(f"{server.path}/oauth/authorize", headers=headers)
    page = urlsplit(begun.json()["authUrl"])
    onward = visitor.press(page.path, **headers)
    callback = visitor.consent(server.page())
    landed = visitor.land(callback, **headers)

    assert f"{page.scheme}://{page.netloc}" == PUBLIC
    assert (
        "redirect_uri=http%3A%2F%2F127.0.0.1%3A8400%2Fapi%2Fmcp%2Foauth%2Fexternal%2Fcallback"
        in (onward.headers["Location"])
    )
    assert landed.headers["Location"] == f"/connected?connected={server.id}"
    (exchange,) = server.tenant.requests_to("token")
    assert exchange.fields["redirect_uri"] == f"{PUBLIC}/api/mcp/oauth/external/callback"
    assert "evil" not in str(
        [(request.query, request.headers, request.body) for request in server.tenant.recorded_requests]
    )


PIECES = st.sampled_from(
    (
        *("/", "//", "\\", "evil.example", "@", ":", "?", "#", "%2f", "%5C", "%09", "\t", "\n", "\r", " ", ".", ".."),
        *(
            "a",
            "https:",
            "http:",
            "javascript:",
            CONSOLE,
            LOCAL,
            "console.example.com",
            "%",
            ";",
            "=",
            "&",
            "é",
            "\x00",
        ),
    )
)


def where(base: str, text: str) -> str:
    """Where a browser ends up that is sent there: it drops what cannot be seen, and takes a backslash for a slash."""
    seen = re.sub(r"[\t\r\n]", "", text).strip("".join(map(chr, range(33))))
    parts = urlsplit(urljoin(base, seen.replace("\\", "/")))
    return f"{parts.scheme}://{parts.netloc}"


@pytest.mark.requirement("OAU-06")
@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=8).map("".join)))
@example("/\\evil.example")
@example("https://console.example.com@evil.example")
def test_every_accepted_return_url_has_an_allowed_origin(text: str) -> None:
    try:
        place = check_return_to(text, ORIGINS)
    except ValidationFailed:
        return
    last = result_url(place, connected="server_1")

    for spelling in (last, unquote(last.partition("?")[0])):
        assert where("https://plugboard.test/api/mcp/oauth/notion/callback", spelling) in {
            "https://plugboard.test",
            *ORIGINS,
        }
    assert last.isascii()
    assert last.isprintable()
    assert parameters_of(last) == "server_1"


def parameters_of(place: str) -> str:
    return place.partition("#")[0].rpartition("connected=")[2]

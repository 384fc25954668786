import pytest

from integrations.mcp.authorization.urls import parse_url, safe

GOOD = [
    "https://mcp.example.com",
    "https://mcp.example.com/",
    "https://mcp.example.com:8443/a/b?c=d",
    "http://localhost:3000/mcp",
    "https://[2001:db8::1]/mcp",
    "HTTPS://MCP.Example.COM/Mcp",
]
HOSTILE = [
    "",
    "mcp.example.com",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "ftp://mcp.example.com/",
    "https:mcp.example.com",
    "https:///mcp",
    "https://",
    "https://user:password@mcp.example.com/",
    "https://mcp.example.com#fragment",
    "https://mcp.example.com/#",
    "https://mcp.example.com\\@evil.example.com/",
    "https://mcp.example.com/a b",
    'https://mcp.example.com/"onload="',
    "https://mcp.example.com/<script>",
    "https://mcp.example.com/$(id)`",
    "https://mcp.example.com/\r\nLocation: https://evil.example.com",
    "https://mcp.example.com/\n",
    " https://mcp.example.com/",
    "https://mcp.example.com:/",
    "https://mcp.example.com:0/",
    "https://mcp.example.com:65536/",
    "https://mcp.example.com:443443/",
    "https://mcp.éxample.com/",
    "https://mcp.example.com/é",
    "https://[::1%25eth0]/",
    "https://mcp.example.com/" + "a" * 2048,
]


@pytest.mark.parametrize("text", GOOD)
def test_a_plain_url_is_valid_and_unchanged(text: str) -> None:
    url = parse_url(text)

    assert url
    assert url.text == text


@pytest.mark.requirement("OAU-08")
@pytest.mark.parametrize("text", HOSTILE)
def test_an_ambiguous_url_is_refused(text: str) -> None:
    assert parse_url(text) is None


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("https://mcp.example.com/", "https://mcp.example.com"),
        ("HTTPS://MCP.example.com:443/Mcp", "https://mcp.example.com/Mcp"),
        ("http://localhost:80", "http://localhost"),
        ("https://mcp.example.com:8443/mcp/?key=secret", "https://mcp.example.com:8443/mcp/"),
    ],
)
def test_a_resource_identifier_is_canonical_and_has_no_query(text: str, canonical: str) -> None:
    url = parse_url(text)

    assert url
    assert url.canonical == canonical


@pytest.mark.requirement("OAU-10")
@pytest.mark.parametrize(
    ("resource", "url", "holds"),
    [
        ("https://h.example/mcp", "https://h.example/mcp", True),
        ("https://h.example/mcp/", "https://h.example/mcp", True),
        ("https://h.example/mcp", "https://h.example/mcp/", True),
        ("https://h.example", "https://h.example/team/mcp", True),
        ("https://h.example/", "https://h.example/team/mcp", True),
        ("https://h.example/team", "https://h.example/team/mcp", True),
        ("HTTPS://H.EXAMPLE:443/team", "https://h.example/team/mcp?x=1", True),
        ("https://h.example/mcp?team=1", "https://h.example/mcp?team=1", True),
        ("https://h.example/mcp?team=1", "https://h.example/mcp?team=2", False),
        ("https://h.example/?team=1", "https://h.example/mcp?team=1", False),
        ("https://h.example/team/mcp", "https://h.example/team", False),
        ("https://h.example/te", "https://h.example/team/mcp", False),
        ("https://h.example/Team", "https://h.example/team/mcp", False),
        ("https://h.example/other", "https://h.example/team/mcp", False),
        ("https://other.example/mcp", "https://h.example/mcp", False),
        ("https://h.example:8443/mcp", "https://h.example/mcp", False),
        ("http://h.example/mcp", "https://h.example/mcp", False),
        ("https://h.example.evil.example/mcp", "https://h.example/mcp", False),
        ("https://h.example/team", "https://h.example/team/../other/mcp", False),
        ("https://h.example/team", "https://h.example/team/%2E%2e/other/mcp", False),
        ("https://h.example/other/..", "https://h.example/other/../mcp", False),
    ],
)
def test_a_resource_is_the_server_or_a_parent_of_it(resource: str, url: str, holds: bool) -> None:
    named, server = parse_url(resource), parse_url(url)

    assert named
    assert server
    assert named.is_at_or_above(server) is holds


@pytest.mark.parametrize(
    ("issuer", "inserted", "appended"),
    [
        ("https://as.example/", "https://as.example/.well-known/x", "https://as.example/.well-known/x"),
        ("https://as.example/t/1", "https://as.example/.well-known/x/t/1", "https://as.example/t/1/.well-known/x"),
        ("https://as.example/t/", "https://as.example/.well-known/x/t", "https://as.example/t/.well-known/x"),
    ],
)
def test_a_well_known_path_is_inserted_or_appended(issuer: str, inserted: str, appended: str) -> None:
    url = parse_url(issuer)

    assert url
    assert (url.well_known("x"), url.below("x")) == (inserted, appended)


@pytest.mark.requirement("OAU-08")
@pytest.mark.parametrize(
    ("server", "text", "is_safe"),
    [
        ("https://mcp.example.com/mcp", "https://as.example.com/token", True),
        ("https://mcp.example.com/mcp", "http://as.example.com/token", False),
        ("http://localhost:3000/mcp", "http://localhost:3001/token", True),
        ("http://localhost:3000/mcp", "https://as.example.com/token", True),
        ("http://localhost:3000/mcp", "javascript:alert(1)", False),
    ],
)
def test_plain_http_is_allowed_only_for_plain_http_servers(server: str, text: str, is_safe: bool) -> None:
    beside = parse_url(server)

    assert beside
    assert (safe(text, beside=beside) is not None) is is_safe

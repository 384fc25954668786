import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.egress.custom_headers import HeaderRefused, check_header, check_header_value, check_headers

CANARY = "canary-5f1c"


@pytest.mark.parametrize(
    "name", ["X-Api-Key", "x-tenant", "User-Agent", "Origin", "X_Token", "!#$%&'*+.^_`|~-9", "a" * 64]
)
def test_a_custom_header_is_accepted(name: str) -> None:
    check_header(name, "value")


@pytest.mark.requirement("EGR-12")
@pytest.mark.parametrize(
    "name",
    [
        *("Host", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings", "Via"),
        *("Cookie", "Cookie2", "Set-Cookie", "Expect", "Accept", "Accept-Encoding", "Max-Forwards", "Last-Event-ID"),
        *("Content-Length", "Content-Type", "Content-Encoding", "Proxy-Authorization", "Proxy-Connection"),
        *("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded", "X-Real-IP", "True-Client-IP"),
        *("Mcp-Session-Id", "MCP-Protocol-Version", "mcp-method"),
        *("hOsT", "content_length", "Transfer_Encoding", "X_Forwarded-For", "PROXY_AUTHORIZATION"),
    ],
)
def test_a_connection_header_cannot_be_set(name: str) -> None:
    with pytest.raises(HeaderRefused, match="is set by Plugboard") as raised:
        check_header(name, CANARY)
    assert raised.value.name == name
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
def test_the_error_about_authorization_names_the_right_field(name: str) -> None:
    with pytest.raises(HeaderRefused, match="headerValue"):
        check_header(name, "Bearer x")


@pytest.mark.requirement("EGR-12")
@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "X Key",
        "X-Key:",
        "X-Key\r\nHost",
        "X-Key\n",
        "X\x00",
        "X-Kéy",
        "X(Key)",
        'X"',
        "X,Y",
        "X/Y",
        "a" * 65,
        "\uff03",
    ],
)
def test_an_invalid_header_name_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(HeaderRefused) as raised:
        check_header(name, "value")
    assert raised.value.name is None
    assert str(raised.value) == "A header's name has 1 to 64 letters, digits, hyphens or other token characters."


@pytest.mark.requirement("EGR-12")
@pytest.mark.parametrize(
    "value",
    [
        *(f"{CANARY}\r\nHost: evil", f"{CANARY}\n", f"{CANARY}\r", f"\n{CANARY}", f"{CANARY}\x00", f"{CANARY}\tb"),
        *(f"{CANARY}\x7f", f"{CANARY}\x85b", f"{CANARY}\x1b[0m", f"{CANARY}€", f"{CANARY}\u2028", f"{CANARY}\ud800"),
        *(f" {CANARY}", f"{CANARY} ", f"\t{CANARY}", f"\xa0{CANARY}", CANARY * 1000),
    ],
)
def test_an_invalid_header_value_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(HeaderRefused, match="Header X-Key: its value") as raised:
        check_header("X-Key", value)
    assert CANARY not in str(raised.value)
    with pytest.raises(HeaderRefused, match="Header Authorization: its value") as raised:
        check_header_value(value)
    assert CANARY not in str(raised.value)


def test_an_empty_value_is_refused() -> None:
    with pytest.raises(HeaderRefused, match="empty"):
        check_header_value("")


@pytest.mark.parametrize("value", ["Bearer token_123", "a", "a  b", "ä\xa0ö", "x" * 8192])
def test_a_plain_value_is_accepted(value: str) -> None:
    check_header_value(value)
    check_header("X-Key", value)


@pytest.mark.requirement("EGR-13")
@pytest.mark.parametrize("value", ["${CANARY}", "$CANARY", "%CANARY%", "{{CANARY}}", "{CANARY}", "$(id)", "`id`", "~"])
def test_template_syntax_is_not_expanded(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "expanded")
    headers = {"X-Key": value}
    check_headers(headers)
    assert headers == {"X-Key": value}


def test_at_most_twenty_headers_are_accepted() -> None:
    twenty = {f"X-Key-{number}": "value" for number in range(20)}
    check_headers({})
    check_headers(twenty)
    with pytest.raises(HeaderRefused, match="At most 20"):
        check_headers({**twenty, "X-One-More": "value"})


def test_a_header_repeated_in_another_case_is_refused() -> None:
    with pytest.raises(HeaderRefused, match="x-key: it occurs twice"):
        check_headers({"X-Key": CANARY, "x-key": "value"})


def test_an_invalid_header_among_valid_ones_is_named() -> None:
    with pytest.raises(HeaderRefused) as raised:
        check_headers({"X-Good": "value", "Cookie": CANARY})
    assert raised.value.name == "Cookie"


@pytest.mark.requirement("EGR-12")
@given(st.text(max_size=20), st.text(max_size=20))
def test_an_accepted_header_is_one_line_of_a_request(name: str, value: str) -> None:
    try:
        check_header(name, value)
    except HeaderRefused:
        return
    line = f"{name}: {value}".encode("latin-1")
    assert line.decode("latin-1").splitlines() == [f"{name}: {value}"]
    assert not set(line) & {0, 10, 13}

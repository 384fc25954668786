from ipaddress import ip_address, ip_network

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.kit.egress.hostnames import parse_host
from api.kit.egress.ip_ranges import TRANSLATIONS, Address
from api.kit.egress.policy import EgressPolicy, InvalidEgressPolicy, Origin, UrlRefused, check_url
from tests.corpus.urls import GOOD, HOSTILE, LEADING_INSIDE, Hostile, LeadingInside

CLOSED = EgressPolicy()
PORTS = {"https": 443, "http": 80}


def refusal(url: str, egress: EgressPolicy = CLOSED) -> str:
    with pytest.raises(UrlRefused) as raised:
        check_url(url, egress)
    return raised.value.reason


def test_the_corpus_is_large_and_has_no_duplicate() -> None:
    urls = [case.url for case in HOSTILE] + [case.url for case in LEADING_INSIDE] + GOOD
    assert len(urls) == len(set(urls))
    assert len(HOSTILE) >= 150
    assert len(GOOD) >= 15


@pytest.mark.requirement("EGR-02", "EGR-20")
@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: f"{case.kind}: {case.url[:60]!a}")
def test_a_hostile_url_is_refused_for_its_own_reason(case: Hostile) -> None:
    reason = refusal(case.url)
    assert case.because in reason
    assert reason.endswith(".")


@pytest.mark.requirement("EGR-02")
@pytest.mark.parametrize("url", GOOD, ids=lambda url: url[:60])
def test_a_valid_url_is_accepted_unchanged(url: str) -> None:
    assert check_url(url, CLOSED).url == url


@pytest.mark.requirement("EGR-02")
@pytest.mark.parametrize("case", LEADING_INSIDE, ids=lambda case: case.url)
def test_a_name_with_private_addresses_is_accepted_as_text_and_denied_when_resolved(case: LeadingInside) -> None:
    host = check_url(case.url, CLOSED).host
    admitted = [CLOSED.allows_address(host, ip_address(response)) for response in case.answers]
    assert not admitted or not all(admitted)


def test_a_url_is_parsed_into_its_parts() -> None:
    target = check_url("HTTPS://Mcp.Example.COM.:8443/a/b?c=d", CLOSED)
    assert (target.scheme, target.host, target.port, target.path) == ("https", "mcp.example.com", 8443, "/a/b?c=d")
    assert target.origin == Origin("https", "mcp.example.com", 8443)
    assert str(target.origin) == "https://mcp.example.com:8443"
    assert target.authority == "mcp.example.com:8443"
    assert target.wire_url == "https://mcp.example.com:8443/a/b?c=d"
    assert target.address is None


def test_an_address_in_a_url_is_parsed_as_an_address() -> None:
    target = check_url("https://[2606:4700:4700:0::1111]:8443?a", CLOSED)
    assert target.address == ip_address("2606:4700:4700::1111")
    assert target.wire_url == "https://[2606:4700:4700::1111]:8443/?a"
    assert str(target.origin) == "https://[2606:4700:4700::1111]:8443"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.com", "https://EXAMPLE.com:443/other?path"),
        ("https://example.com.", "https://example.com"),
        ("https://[2606:4700::0:1]", "https://[2606:4700::1]:443"),
    ],
)
def test_two_spellings_of_one_origin_are_equal(one: str, other: str) -> None:
    assert check_url(one, CLOSED).origin == check_url(other, CLOSED).origin


@pytest.mark.parametrize("other", ["https://example.com:8443", "https://www.example.com", "https://example.org"])
def test_another_port_or_host_is_another_origin(other: str) -> None:
    assert check_url("https://example.com", CLOSED).origin != check_url(other, CLOSED).origin


def test_http_and_https_are_two_origins() -> None:
    egress = EgressPolicy.parse("mcp.internal")
    plain, safe = check_url("http://mcp.internal:443", egress), check_url("https://mcp.internal:443", egress)
    assert plain.origin != safe.origin


@pytest.mark.parametrize(
    "url",
    [
        "https://canary-user:canary-pass@example.com/",
        "https://canary:pa/ss@example.com/",
        "https://127.0.0.1/canary?key=canary",
        "https://example.com/?key=canary value",
        "https://canary..example.com/",
        "canary://example.com/",
    ],
)
def test_a_refusal_does_not_repeat_the_url(url: str) -> None:
    assert "canary" not in refusal(url)


def test_a_target_does_not_show_its_path_and_query() -> None:
    assert "canary" not in repr(check_url("https://example.com/canary?key=canary", CLOSED))


@pytest.mark.requirement("EGR-13")
def test_template_syntax_is_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", "secret")
    target = check_url("https://example.com/$CANARY/%CANARY%25?k=$(CANARY)", CLOSED)
    assert target.path == "/$CANARY/%CANARY%25?k=$(CANARY)"
    assert "secret" not in target.wire_url
    assert "U+007B" in refusal("https://example.com/${CANARY}")


@pytest.mark.requirement("EGR-11")
@pytest.mark.parametrize(
    ("allow", "url"),
    [
        ("mcp.internal", "http://mcp.internal/"),
        ("mcp.internal", "http://MCP.internal.:8000/mcp"),
        ("MCP.Internal.", "http://mcp.internal:22/"),
        ("mcp", "http://mcp:9000/mcp"),
        ("localhost", "http://localhost:65535/mcp"),
        ("127.0.0.1", "http://127.0.0.1:8401/mcp"),
        ("127.0.0.0/8", "http://127.0.0.2:1/mcp"),
        ("::1", "http://[::1]:8401/mcp"),
        ("[::1]", "https://[0:0::1]:8401/mcp"),
        ("fd00::/8", "http://[fd00::1]/mcp"),
        ("8.8.8.8", "http://8.8.8.8/mcp"),
        ("example.com", "https://example.com:80/mcp"),
        ("a.example.com, 10.0.0.0/8", "http://10.1.2.3:80/"),
    ],
)
def test_a_listed_host_may_be_internal_and_use_http_and_any_port(allow: str, url: str) -> None:
    refusal(url)
    check_url(url, EgressPolicy.parse(allow))


@pytest.mark.requirement("EGR-11")
@pytest.mark.parametrize(
    ("allow", "url"),
    [
        ("mcp.internal", "http://other.internal/"),
        ("mcp.internal", "http://a.mcp.internal/"),
        ("mcp.internal", "http://mcp.internal@127.0.0.1/"),
        ("mcp.internal", "http://mcp.internal:0/"),
        ("10.0.0.0/8", "http://11.0.0.1/"),
        ("10.0.0.0/8", "https://192.168.0.1/"),
        ("10.0.0.0/8", "http://[::ffff:10.0.0.1]/"),
        ("10.0.0.0/8", "http://mcp.internal/"),
        ("127.0.0.1", "http://127.1/"),
        ("127.0.0.1", "http://127.0.0.2/"),
        ("169.254.0.0/16", "http://169.254.169.254/"),
        ("fd00::/8", "http://[fd00:ec2::254]/"),
        ("100.64.0.0/10", "http://100.100.100.200/"),
        ("localhost", "ftp://localhost/"),
    ],
)
def test_a_list_entry_allows_only_itself(allow: str, url: str) -> None:
    refusal(url, EgressPolicy.parse(allow))


def test_a_metadata_address_is_allowed_only_by_its_own_entry() -> None:
    check_url("http://169.254.169.254/", EgressPolicy.parse("169.254.169.254"))
    check_url("http://[fd00:ec2::254]/", EgressPolicy.parse("fd00:ec2::254/128"))


@pytest.mark.parametrize(
    ("name", "address", "admitted"),
    [
        ("example.com", "93.184.215.14", True),
        ("mcp.internal", "10.0.0.1", True),
        ("mcp.internal", "fd00::1", True),
        ("mcp.internal", "127.0.0.1", True),
        ("mcp.internal", "100.64.0.1", True),
        ("mcp.internal", "169.254.169.254", False),
        ("mcp.internal", "fd00:ec2::254", False),
        ("mcp.internal", "169.254.1.1", False),
        ("mcp.internal", "0.0.0.0", False),
        ("mcp.internal", "::ffff:10.0.0.1", False),
        ("mcp.internal", "64:ff9b::a00:1", False),
        ("example.com", "10.0.0.1", False),
        ("example.com", "192.168.7.1", True),
    ],
)
def test_a_listed_name_may_lead_to_private_addresses_but_not_to_metadata(
    name: str, address: str, admitted: bool
) -> None:
    egress = EgressPolicy.parse("mcp.internal, 192.168.7.0/24")
    assert egress.allows_address(name, ip_address(address)) is admitted


def test_an_empty_list_allows_nothing() -> None:
    assert EgressPolicy.parse("") == EgressPolicy.parse(" , ,") == CLOSED


def test_a_list_shows_what_it_allows() -> None:
    egress = EgressPolicy.parse("b.internal,10.0.0.0/8, A.internal, ::1,10.0.0.0/8")
    assert str(egress) == "a.internal, b.internal, 10.0.0.0/8, ::1/128"


@pytest.mark.requirement("EGR-24")
@pytest.mark.parametrize(
    "entry",
    [
        *(str(block.network) for block in TRANSLATIONS),
        "64:ff9b::/64",
        "64:ff9b::a00:1",
        "64:ff9b:1:2::/64",
        "2002:a00::/24",
        "2001::/16",
        "2000::/8",
        "2001:0:1::/48",
        "::/8",
        "::/128",
        "::/127",
        "::7f00:1/128",
        "::ffff:127.0.0.1",
        "[::ffff:10.0.0.1]",
        "::ffff:10.0.0.0/104",
    ],
)
def test_an_entry_of_translated_addresses_is_refused(entry: str) -> None:
    with pytest.raises(InvalidEgressPolicy, match="which embed other addresses"):
        EgressPolicy.parse(f"10.0.0.0/8,{entry}")


@pytest.mark.requirement("EGR-24")
@pytest.mark.parametrize(
    "entry", ["0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "8.0.0.0/7", "fc00::/6", "8000::/1"]
)
def test_an_entry_that_allows_the_internet_is_refused(entry: str) -> None:
    with pytest.raises(InvalidEgressPolicy, match="wider than a private network"):
        EgressPolicy.parse(entry)


@pytest.mark.parametrize(
    "entry",
    [
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.0/255.0.0.0",
        "10.0.0/8",
        "fe80::%1/64",
        "http://mcp.internal/",
        "mcp.internal:8000",
        "localhost:8000",
        "[::1]:8000",
        "*.internal",
        "127.1",
        "2130706433",
        "a b",
        "bücher.example.com",
        "${HOSTS}",
        "[10.0.0.1]",
        "-",
    ],
)
def test_an_entry_that_is_neither_host_nor_network_is_refused_by_name(entry: str) -> None:
    with pytest.raises(InvalidEgressPolicy) as raised:
        EgressPolicy.parse(f"mcp.internal, {entry} ")
    assert repr(entry) in str(raised.value)
    assert "PLUGBOARD_EGRESS_ALLOW" in str(raised.value)


HOSTS = st.one_of(
    st.sampled_from([case.url.removeprefix("https://").split("/")[0] for case in HOSTILE if len(case.url) < 300]),
    st.sampled_from([url.split("/")[2] for url in GOOD]),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
    st.from_regex(r"[a-zA-Z0-9_\-]{1,8}(\.[a-zA-Z0-9_\-]{0,8}){1,3}", fullmatch=True),
    st.text(max_size=12),
)
URLS = st.one_of(
    st.text(max_size=60),
    st.text("htps:/\\@[]?#%.0123456789abcxnAF- \t", max_size=40).map("https://".__add__),
    st.builds(
        "{}{}{}{}{}{}".format,
        st.sampled_from(["https", "http", "HTTPS", "ftp", " https", ""]),
        st.sampled_from(["://", "://", "://", ":/", ":", "//", ":\\\\", ":///"]),
        st.sampled_from(["", "", "", "user@", "user:pass@", "a@b@", "\\@"]),
        HOSTS,
        st.sampled_from(["", "", ":443", ":8443", ":80", ":", ":0", ":99999", ":443:443", ":\uff14\uff14\uff13", "."]),
        st.one_of(st.sampled_from(["", "/", "/mcp", "?a=b", "/#a", "/@evil.com", "\\evil.com"]), st.text(max_size=8)),
    ),
)


def client_reads(url: str) -> tuple[str, str, int]:
    read = httpx2.URL(url)
    host = read.raw_host.decode()
    return read.scheme, host, read.port or PORTS[read.scheme]


def canonical(host: str) -> str:
    return str(parse_host(f"[{host}]" if ":" in host else host))


@pytest.mark.requirement("EGR-22")
@given(URLS, st.sampled_from([CLOSED, EgressPolicy.parse("localhost, mcp.internal, 127.0.0.0/8, 10.0.0.0/8, ::1")]))
@example("https://example.com\\@127.0.0.1/", CLOSED)
@example("https://127.0.0.1.:8443/", CLOSED)
def test_a_client_reads_the_same_destination_or_the_url_is_refused(url: str, egress: EgressPolicy) -> None:
    try:
        target = check_url(url, egress)
    except UrlRefused:
        return
    assert client_reads(target.wire_url) == target.origin
    scheme, host, port = client_reads(url)
    assert (scheme, canonical(host), port) == target.origin


@pytest.mark.requirement("EGR-22")
@given(st.ip_addresses())
def test_an_address_passes_as_text_exactly_when_it_would_pass_at_connecting(address: Address) -> None:
    host = f"[{address}]" if address.version == 6 else str(address)
    admitted = CLOSED.allows_address(str(address), address)
    try:
        assert check_url(f"https://{host}/", CLOSED).address == address
    except UrlRefused:
        assert not admitted
    else:
        assert admitted


@given(st.lists(st.text(max_size=20), max_size=4).map(",".join) | st.ip_addresses(network=ip_network("::/8")).map(str))
def test_any_text_is_a_stable_list_or_is_refused(text: str) -> None:
    try:
        egress = EgressPolicy.parse(text)
    except InvalidEgressPolicy:
        return
    again = EgressPolicy.parse(str(egress))
    assert (again.names, set(again.networks)) == (egress.names, set(egress.networks))

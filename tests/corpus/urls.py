"""URLs by class: what must be refused as text, what only its resolved address gives away, and what must pass."""

from typing import NamedTuple


class Hostile(NamedTuple):
    url: str
    kind: str
    because: str  # a part of the reason in the error message


class LeadingInside(NamedTuple):
    url: str
    answers: tuple[str, ...]  # what the resolver says, one tuple of addresses


def _group(kind: str, because: str, *urls: str) -> list[Hostile]:
    return [Hostile(url, kind, because) for url in urls]


def _hosts(kind: str, because: str, *hosts: str) -> list[Hostile]:
    return _group(kind, because, *(f"https://{host}/mcp" for host in hosts))


_NOT_A_HOST_PART = "Each label of the host"
_NOT_A_QUAD = "four plain decimal numbers"
_NOT_IN_FULL = "Write the URL in full"
_AFTER_HOST = "After the host"
_BRACKETS = "Brackets are for IPv6 addresses"

HOSTILE: list[Hostile] = [
    # IPv4 by block
    *_hosts("loopback", "loopback", "127.0.0.1", "127.0.0.53", "127.255.255.254", "127.0.0.1:8443"),
    *_hosts("unspecified", "unspecified", "0.0.0.0", "0.1.2.3"),
    *_hosts("private", "private", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *_hosts("link-local", "link-local", "169.254.0.1", "169.254.255.255"),
    *_hosts("cgnat", "carrier-grade NAT", "100.64.0.1", "100.127.255.255"),
    *_hosts("benchmark", "benchmark", "198.18.0.1", "198.19.255.255"),
    *_hosts("documentation", "documentation", "192.0.2.1", "198.51.100.7", "203.0.113.9"),
    *_hosts("multicast", "multicast", "224.0.0.1", "239.255.255.250"),
    *_hosts("reserved", "reserved", "240.0.0.1", "254.1.1.1"),
    *_hosts("reserved", "protocol assignments", "192.0.0.8", "192.0.0.170"),
    *_hosts("reserved", "tunnel relay", "192.88.99.1", "192.52.193.1"),
    *_hosts("reserved", "DNS sink", "192.31.196.1", "192.175.48.1"),
    *_hosts("broadcast", "broadcast", "255.255.255.255"),
    # cloud metadata
    *_hosts("metadata", "cloud metadata", "169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23"),
    *_hosts("metadata", "cloud metadata", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *_hosts("metadata", "cloud metadata", "[fd00:ec2::254]", "[fd00:ec2::23]", "[fd20:ce::254]", "[FD00:EC2:0:0::254]"),
    *_hosts("metadata", "cloud metadata", "[fe80::a9fe:a9fe]", "metadata.goog", "metadata.tencentyun.com"),
    *_hosts("metadata", "cloud metadata", "METADATA.GOOG.", "metadata.packet.net", "metadata.platformequinix.com"),
    *_hosts(
        "metadata", "internal network", "metadata.google.internal", "metadata.google.internal.", "a.metadata.internal"
    ),
    *_hosts("metadata", "internal network", "instance-data.ec2.internal", "metadata.azure.internal"),
    *_hosts("metadata", "without a domain", "metadata", "instance-data"),
    # names of the inside
    *_hosts(
        "internal name", "without a domain", "localhost", "LOCALHOST", "localhost.", "intranet", "vault:8200", "redis"
    ),
    *_hosts("internal name", "internal network", "a.localhost", "localhost.localdomain", "printer.local", "nas.lan"),
    *_hosts("internal name", "internal network", "db.corp.internal", "router.home.arpa", "wiki.corp", "git.intranet"),
    *_hosts("internal name", "internal network", "kubernetes.default.svc", "a.svc.cluster.local", "expyuzz4.onion"),
    # numeric forms
    *_hosts("numeric: short", _NOT_A_QUAD, "127.1", "127.0.1", "10.1", "0"),
    *_hosts("numeric: decimal", _NOT_A_QUAD, "2130706433", "2852039166", "017700000001"),
    *_hosts(
        "numeric: hex", _NOT_A_QUAD, "0x7f000001", "0x7f.1", "0X7F.0x0.0x0.0x1", "127.0.0.0x1", "0xa9fea9fe", "a.0x"
    ),
    *_hosts("numeric: octal", _NOT_A_QUAD, "0177.0.0.1", "0177.1", "0251.0376.0251.0376", "010.0.0.1"),
    *_hosts("numeric: padded", _NOT_A_QUAD, "127.000.000.001", "127.0.0.01", "08.8.8.8"),
    *_hosts("numeric: mixed", _NOT_A_QUAD, "0x7f.0.0.01", "169.0xfe.43518", "0251.254.169.254"),
    *_hosts(
        "numeric: overflow",
        _NOT_A_QUAD,
        "256.256.256.256",
        "4294967297",
        "127.0.0.257",
        "1.2.3.4.5",
        "340282366920938463",
    ),
    *_hosts("numeric: dotted", _NOT_A_QUAD, "127.0.0.1.", "8.8.8.8.", "2130706433.", "example.com.1"),
    # IPv6
    *_hosts("v6 loopback", "loopback", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::1]:8443", "[::0.0.0.1]"),
    *_hosts("v6 unspecified", "unspecified", "[::]", "[0:0:0:0:0:0:0:0]"),
    *_hosts("v6 zone", _BRACKETS, "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%251]", "[2606:4700::1111%25eth0]"),
    *_hosts("v6 mapped", "IPv4-mapped", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:169.254.169.254]"),
    *_hosts("v6 mapped", "IPv4-mapped", "[::ffff:8.8.8.8]", "[0:0:0:0:0:ffff:10.0.0.1]"),
    *_hosts("v6 compatible", "IPv4-compatible", "[::169.254.169.254]", "[::127.0.0.1]", "[::a9fe:a9fe]", "[::8.8.8.8]"),
    *_hosts("v6 NAT64", "NAT64", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::127.0.0.1]", "[64:ff9b::8.8.8.8]"),
    *_hosts("v6 NAT64 local", "NAT64", "[64:ff9b:1::1]", "[64:ff9b:1:ffff::10.0.0.1]", "[64:ff9b:1::a9fe:a9fe]"),
    *_hosts("v6 6to4", "6to4", "[2002:a9fe:a9fe::]", "[2002:7f00:1::1]", "[2002:a00:1::1]"),
    *_hosts("v6 Teredo", "Teredo", "[2001::1]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "[2001:0:a9fe:a9fe::]"),
    *_hosts("v6 SIIT", "SIIT", "[::ffff:0:169.254.169.254]", "[::ffff:0:7f00:1]", "[0:0:0:0:ffff:0:127.0.0.1]"),
    *_hosts("v6 link-local", "link-local", "[fe80::1]", "[febf:ffff::1]"),
    *_hosts("v6 site-local", "site-local", "[fec0::1]", "[feff::1]"),
    *_hosts("v6 ULA", "unique local", "[fc00::1]", "[fd12:3456:789a::1]"),
    *_hosts("v6 SRv6", "SRv6", "[5f00::1]", "[5f00:ffff::1]"),
    *_hosts("v6 discard", "discard", "[100::1]", "[100:0:0:1::1]"),
    *_hosts("v6 documentation", "documentation", "[2001:db8::1]", "[3fff::1]", "[3fff:fff::1]"),
    *_hosts("v6 multicast", "multicast", "[ff02::1]", "[ff0e::1]"),
    *_hosts("v6 special", "protocol assignments", "[2001:2::1]", "[2001:10::1]", "[2001:20::1]", "[2001:1::1]"),
    *_hosts("v6 special", "DNS sink", "[2620:4f:8000::1]"),
    *_hosts("v6 unassigned", "unassigned", "[4000::1]", "[8000::1]", "[1000::1]", "[200::1]", "[e000::1]"),
    *_hosts("v6 brackets missing", _AFTER_HOST, "::1", "2606:4700::1111", "fe80::1"),
    *_hosts(
        "v6 brackets unclosed", _AFTER_HOST, "[::1", "::1]", "[::1]]", "[[::1]]", "[::1]x", "[::1].example.com", "a[b"
    ),
    *_hosts(
        "v6 brackets wrong", _BRACKETS, "[]", "[127.0.0.1]", "[8.8.8.8]", "[example.com]", "[v1.fe80::1]", "[vF.a]"
    ),
    *_hosts("v6 brackets wrong", _BRACKETS, "[:::1]", "[1::2::3]", "[::12345]", "[::1%00]", "[ ::1]"),
    # parsing
    *_hosts("userinfo", "user name and password", "user:pass@example.com", "user@example.com", "@example.com"),
    *_hosts(
        "userinfo", "user name and password", "example.com@127.0.0.1", "a@b@example.com", "example.com:443@10.0.0.1"
    ),
    *_hosts(
        "userinfo", "user name and password", "example.com\\@127.0.0.1", "127.0.0.1%23@example.com", ":@example.com"
    ),
    *_hosts("backslash", _NOT_A_HOST_PART, "example.com\\.evil.com", "\\example.com", "example.com\\"),
    *_group("backslash", "U+005C", "https://example.com/\\@127.0.0.1", "https://example.com/a\\b"),
    *_group("backslash", _NOT_IN_FULL, "https:\\\\example.com/mcp", "https:/\\example.com/mcp", "\\\\example.com\\mcp"),
    *_hosts("percent-encoded", _NOT_A_HOST_PART, "127%2e0%2e0%2e1", "%6c%6f%63%61%6c%68%6f%73%74", "example%2ecom"),
    *_hosts(
        "percent-encoded",
        _NOT_A_HOST_PART,
        "example.com%2f.evil.com",
        "example.com%00.evil.com",
        "%31%32%37.example.com",
    ),
    *_hosts(
        "control",
        _NOT_A_HOST_PART,
        "exa\x00mple.com",
        "example.com\x00.evil.com",
        "example.com\r\nX-Evil",
    ),
    *_hosts(
        "control", _NOT_A_HOST_PART, "exa\tmple.com", "exam\nple.com", "example.com\x7f", "exa mple.com", "example.com "
    ),
    *_group("control", "U+000D", "https://example.com/\r\nHost: evil.com", "https://example.com/a\r"),
    *_group("control", "U+000A", "https://example.com/mcp\n", "https://example.com/?a=\nb"),
    *_group("control", "U+0000", "https://example.com/\x00", "https://example.com/?\x00"),
    *_group("control", "U+0009", "https://example.com/\tmcp"),
    *_group("control", "U+0020", "https://example.com/a b", "https://example.com/mcp "),
    *_group("leading space", _NOT_IN_FULL, " https://example.com/", "\thttps://example.com/", "\nhttps://example.com/"),
    *_group(
        "leading space", _NOT_IN_FULL, "\x00https://example.com/", "\ufeffhttps://example.com/", "ht tps://example.com/"
    ),
    *_hosts(
        "full-width",
        "plain ASCII",
        "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
        "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
        "example。com",
        "127\uff0e0\uff0e0\uff0e1",
        "example.com｡",
    ),
    *_hosts(
        "full-width",
        "plain ASCII",
        "example.com\uff0fevil.com",
        "user\uff20example.com",
        "example.com\uff1a443",
        "example.com\uff03",
    ),
    *_hosts("enclosed", "plain ASCII", "①②⑦.⓪.⓪.①", "ⓔⓧⓐⓜⓟⓛⓔ.com", "example.℀", "⒈.example.com"),
    *_hosts(
        "bidi and zero-width",
        "plain ASCII",
        "exam\u200bple.com",
        "\u202eexample.com",
        "example\u2060.com",
        "a\u00adb.com",
    ),
    *_hosts("bidi and zero-width", "ASCII form", "\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com"),
    *_hosts("idn", "xn--bcher-kva.example.com", "bücher.example.com", "BÜCHER.example.com"),
    *_hosts("idn", "xn--fiqs8s", "中国.icom.museum", "中国。icom。museum"),
    *_hosts("idn", "xn--pple-43d.com", "\u0430pple.com"),
    *_hosts("idn", "not a valid international name", "xn--a.example.com", "xn---bbk.example.com"),
    *_hosts("idn", _NOT_A_HOST_PART, "xn--.example.com", "xn--abc-.example.com"),
    *_hosts("idn", "not a valid international name", "XN--ls8h.example.com", "xn--example.xn--a"),
    *_hosts("idn", "not a valid international name", "xn--" + "9" * 59 + ".com"),
    *_group("non-ASCII path", "U+00FC", "https://example.com/bücher", "https://example.com/?q=ü"),
    *_group("non-ASCII path", "U+202E", "https://example.com/\u202e"),
    *_hosts("empty host", "host is missing", "", ":443", "."),
    *_hosts("empty label", _NOT_A_HOST_PART, "example..com", ".example.com", "example.com..", "..", "...."),
    *_hosts("hyphen", _NOT_A_HOST_PART, "-example.com", "example-.com", "a.-b.com"),
    *_hosts("long label", _NOT_A_HOST_PART, "a" * 64 + ".com", "a." + "b" * 64),
    *_hosts("long host", "more than 253", ".".join(["a" * 49] * 6), "a." * 125 + "coms", "a." * 126 + "com"),
    *_group("long url", "more than 2048", "https://example.com/" + "a" * 2029, "https://" + "a" * 100_000),
    *_hosts("template", _NOT_A_HOST_PART, "${SECRET}.example.com", "$HOME.example.com", "{{host}}", "a`id`.com"),
    *_group(
        "template",
        "U+007B",
        "https://example.com/${SECRET}",
        "https://example.com/{{secret}}",
        "https://example.com/?k=${K}",
    ),
    *_hosts("port", _AFTER_HOST, "example.com:0", "example.com:65536", "example.com:99999", "example.com:443:443"),
    *_hosts(
        "port",
        _AFTER_HOST,
        "example.com:",
        "example.com:-1",
        "example.com:+443",
        "example.com: 443",
        "example.com:0443",
    ),
    *_hosts(
        "port", _AFTER_HOST, "example.com:4_43", "example.com:44\uff13", "example.com:0x1bb", "example.com:4294967739"
    ),
    *_hosts("port", _AFTER_HOST, "example.com:https", "example.com:443\n", "example.com::443", "user:pa"),
    *_hosts(
        "port",
        "port must be 443",
        "example.com:80",
        "example.com:22",
        "example.com:25",
        "example.com:1023",
        "8.8.8.8:1",
    ),
    *_group("slashes", _NOT_IN_FULL, "https:/example.com", "https:example.com", "https:", "https:/", "https"),
    *_group(
        "slashes",
        "host is missing",
        "https:///example.com",
        "https:////example.com",
        "https://",
        "https://?a",
        "http:///",
    ),
    *_group(
        "relative", _NOT_IN_FULL, "//example.com/mcp", "/mcp", "example.com", "example.com/mcp", "", "://example.com"
    ),
    *_group("relative", _NOT_IN_FULL, "?a=b", "example.com:443", "1https://example.com"),
    *_group(
        "fragment", "fragment", "https://example.com/#", "https://example.com/#a", "https://example.com/?a#@127.0.0.1"
    ),
    *_group("fragment", "fragment", "https://example.com#@127.0.0.1/", "https://example.com#"),
    *_group("scheme", "begin with https", "file:///etc/passwd", "ftp://example.com/", "gopher://example.com:70/_x"),
    *_group("scheme", "begin with https", "ws://example.com/", "wss://example.com/", "dict://example.com/", "x://a/"),
    *_group("scheme", "begin with https", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "httpss://example.com/"),
    *_group(
        "scheme",
        _NOT_IN_FULL,
        "javascript:alert(1)",
        "data:text/plain,a",
        "mailto:a@example.com",
        "jar:https://a.com!/",
    ),
    *_group(
        "scheme",
        _NOT_IN_FULL,
        "\uff48\uff54\uff54\uff50\uff53://example.com/",
        "url:https://example.com/",
        "http\u017f://example.com/",
    ),
    *_group("plain http", "begin with https", "http://example.com/", "HTTP://example.com/", "http://8.8.8.8:8080/"),
    *_group("plain http", "begin with https", "http://example.com:443/", "http://[2606:4700::1111]/"),
]

LEADING_INSIDE: list[LeadingInside] = [  # the text of these is in order; only the answers give them away
    LeadingInside("https://127.0.0.1.nip.io/", ("127.0.0.1",)),
    LeadingInside("https://localtest.me/", ("127.0.0.1", "::1")),
    LeadingInside("https://metadata.example.com/", ("169.254.169.254",)),
    LeadingInside("https://mixed.example.com/", ("93.184.215.14", "10.0.0.1")),
    LeadingInside("https://mixed-six.example.com/", ("2606:4700::1111", "fd00::1")),
    LeadingInside("https://nat64.example.com/", ("64:ff9b::a9fe:a9fe",)),
    LeadingInside("https://mapped.example.com/", ("::ffff:127.0.0.1",)),
    LeadingInside("https://sixtofour.example.com/", ("2002:7f00:1::",)),
    LeadingInside("https://scoped.example.com/", ("fe80::1%2",)),
    LeadingInside("https://wireserver.example.com/", ("168.63.129.16",)),
    LeadingInside("https://unspecified.example.com/", ("0.0.0.0", "::")),
    LeadingInside("https://nothing.example.com/", ()),
]

GOOD: list[str] = [
    "https://api.weather.example.com/mcp",
    "https://example.com",
    "https://example.com/",
    "https://example.com?key=value",
    "https://example.com./mcp",
    "HTTPS://API.Example.COM/Mcp",
    "https://example.com:443/mcp",
    "https://example.com:1024/mcp",
    "https://example.com:8443/mcp",
    "https://example.com:65535/mcp",
    "https://xn--bcher-kva.example.com/",
    "https://xn--fiqs8s.icom.museum/",
    "https://8.8.8.8/mcp",
    "https://1.1.1.1:8443/",
    "https://[2606:4700:4700::1111]/mcp",
    "https://[2606:4700:4700:0:0:0:0:1111]:8443/",
    "https://[2A00:1450:4001:80B::200E]/",
    "https://my_server.example.com/",
    "https://r3---sn-abc.example.com/",
    "https://1password.example.com/",
    "https://123.example.com/",
    "https://0x7f.example.com/",
    "https://localhost.example.com/",
    "https://internal.example.com/",
    "https://example.com/a/../b/%2e%2e/c%0d%0a;x=1?a[]=1&b=$HOME@c:d!",
    "https://example.com//double//slash",
    "https://example.com/@user:pass",
    "https://" + "a" * 63 + ".example.com/",
    "https://" + "a." * 125 + "com/",
    "https://example.com/" + "a" * 2028,
    "https://us.posthog.com",
    "https://mcp.linear.app/mcp",
]

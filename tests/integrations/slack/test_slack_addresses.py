import pytest

from integrations.slack.references import MessageReference, parse_reference, read_ts, time_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C012AB3CD", MessageReference("C012AB3CD")),
        ("  G012AB3CDEF ", MessageReference("G012AB3CDEF")),
        ("<#C012AB3CD|general>", MessageReference("C012AB3CD")),
        ("<#C012AB3CD>", MessageReference("C012AB3CD")),
        ("#General", MessageReference("#general")),
        ("team-größe_2", MessageReference("#team-größe_2")),
        ("https://acme.slack.com/archives/C012AB3CD", MessageReference("C012AB3CD")),
        (
            "https://acme.slack.com/archives/C012AB3CD/p1763371860000200",
            MessageReference("C012AB3CD", "1763371860.000200"),
        ),
        (
            "https://acme.slack.com/archives/C012AB3CD/p1763371999000300?thread_ts=1763371860.000200&cid=C012AB3CD",
            MessageReference("C012AB3CD", "1763371860.000200"),
        ),
        ("https://app.slack.com/client/T012AB3CD/C012AB3CD", MessageReference("C012AB3CD")),
        *(
            (f"https://acme.slack.com/{path}", MessageReference("C012AB3CD", "1763371860.000200"))
            for path in (
                "archives/C012AB3CD/p1763371860.000200",
                "archives/C012AB3CD/1763371860.000200",
                "archives/C012AB3CD/1763371860000200/",
                "archives/C012AB3CD?message_ts=1763371860.000200",
                "client/T012AB3CD/C012AB3CD/thread/C012AB3CD-1763371860.000200",
            )
        ),
        (
            "https://acme.slack.com/archives/C012AB3CD/p1763371860000200?thread_ts=x&cid=C012AB3CD",
            MessageReference("C012AB3CD", "1763371860.000200"),
        ),
    ],
)
def test_a_channel_is_parsed_in_every_form(text: str, expected: MessageReference) -> None:
    assert parse_reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "two words",
        "#",
        "https://acme.slack.com/",
        "https://example.com/archives/C012AB3CD",
        "https://evilslack.com/archives/C012AB3CD",
        "<https://a.com|b>",
        "https://[slack.com",
    ],
)
def test_an_invalid_channel_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a channel's ID"):
        parse_reference(text)


@pytest.mark.parametrize(
    "tail",
    [
        "/p1763371860",
        "/last",
        "/p1763371860000200/more",
        "/thread/C0OTHER0001-1763371860.000200",
        "/thread/C012AB3CD-x",
        "?thread_ts=x",
        "#p1763371860",
    ],
)
def test_the_end_of_a_link_is_never_dropped(tail: str) -> None:
    with pytest.raises(ValueError, match="the part after the channel in this link is not a message"):
        parse_reference(f"https://acme.slack.com/archives/C012AB3CD{tail}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://acme.slack.com/archives/C012AB3CD/p1763371860.000200", "1763371860.000200"),
        ("1763371860.000200", "1763371860.000200"),
        ("1763371860.0002", "1763371860.000200"),
        (1763371860.0002, "1763371860.000200"),
        (1763371860.123459, "1763371860.123459"),
        ("p1763371860000200", "1763371860.000200"),
        ("https://acme.slack.com/archives/C012AB3CD/p1763371860000200", "1763371860.000200"),
    ],
)
def test_a_message_is_parsed_in_every_form(value: object, expected: str) -> None:
    assert read_ts(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "1763371860",
        "now",
        float("nan"),
        "https://acme.slack.com/archives/C012AB3CD",
        "https://a.com",
        10**400,
        -(10**400),
        "١٧٦٣٣٧١٨٦٠.000200",
    ],
)
def test_an_invalid_message_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be a message's `ts`"):
        read_ts(value)


@pytest.mark.parametrize(
    "text",
    [
        "D012AB3CD",
        "U012AB3CD",
        "W012AB3CD",
        "<@U012AB3CD>",
        "https://acme.slack.com/archives/D012AB3CD/p1763371860000200",
    ],
)
def test_people_and_direct_messages_are_no_channels(text: str) -> None:
    with pytest.raises(ValueError, match="must be a channel: this server does not read or write direct messages"):
        parse_reference(text)


@pytest.mark.parametrize("value", [True, ["1763371860.000200"], {}])
def test_other_types_are_left_to_the_schema(value: object) -> None:
    assert read_ts(value) is value


def test_the_time_of_a_message_is_iso_8601() -> None:
    assert time_of("1763371860.000200") == "2025-11-17T09:31:00Z"

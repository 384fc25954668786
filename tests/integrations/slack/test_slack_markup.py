from typing import Any

import pytest

from integrations.slack.markup import content, escape, mentioned_users, plain

NAMES = {"U0ADA000001": "Ada"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("<@U0ADA000001>, <@U0GRACE0001>, <@U0GRACE0001|grace>", "@Ada, @U0GRACE0001, @grace"),
        ("<#C012AB3CD|general> <#C012AB3CD>", "#general #C012AB3CD"),
        ("<!here> <!channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@team> <!subteam^S1|team> <!subteam^S1>", "@team @team @S1"),
        ("<!date^1392734382^{date_num}^https://a.com|18 February>", "18 February"),
        (
            "<https://a.com|our site> <https://a.com> <https://a.com|https://a.com>",
            "our site (https://a.com) https://a.com https://a.com",
        ),
        ("<mailto:a@b.com|a@b.com> <tel:+1234|call us>", "a@b.com call us (+1234)"),
        ("1 &lt; 2, not a <link", "1 < 2, not a <link"),
        ("&lt;@U0ADA000001&gt;", "<@U0ADA000001>"),  # a user wrote this text: it is not a mention
    ],
)
def test_markup_is_read_as_people_see_it(text: str, expected: str) -> None:
    assert plain(text, NAMES.get) == expected


def test_escaped_text_round_trips() -> None:
    text = "<!channel> & <@U0ADA000001> &amp; <https://a.com|b>"
    assert "<" not in escape(text)
    assert plain(escape(text), NAMES.get) == text


def test_mentioned_users_are_listed() -> None:
    assert mentioned_users("<@U0ADA000001> and <@W0GRACE0001|grace> <#C012AB3CD>") == ["U0ADA000001", "W0GRACE0001"]


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"blocks": [{"type": "rich_text", "elements": list(elements)}]}


def section(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(elements)}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"text": "Hi", "blocks": [{"type": "section", "text": {"text": "not again"}}]}, "Hi"),
        ({"text": "", "attachments": [{"fallback": "fall", "title": "T", "text": "body"}]}, "T\nbody"),
        ({"attachments": [{"fallback": "fall"}]}, "fall"),
        (
            {"text": "Hi", "attachments": [{"pretext": "Look", "fields": [{"title": "a", "value": 1}]}]},
            "Hi\nLook\na: 1",
        ),
        ({"attachments": [{"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "H"}}]}]}, "H"),
        ({"blocks": [{"type": "markdown", "text": "**b**"}, {"type": "divider"}]}, "**b**"),
        ({"blocks": [{"type": "section", "fields": [{"text": "a"}, {"text": "b"}]}]}, "a\nb"),
        ({"blocks": [{"type": "context", "elements": [{"text": "a"}, {"type": "image"}, {"text": "b"}]}]}, "a  b"),
        ({"blocks": [{"type": "actions", "elements": [{"type": "button", "text": {"text": "Buy"}}]}]}, ""),
        ({"blocks": [{"type": "image", "alt_text": "A cat", "image_url": "https://a.com"}]}, "A cat"),
        (rich(section({"type": "text", "text": "a < b"}, {"type": "emoji", "name": "tada"})), "a &lt; b:tada:"),
        (rich(section({"type": "user", "user_id": "U1"}, {"type": "channel", "channel_id": "C1"})), "<@U1><#C1>"),
        (rich(section({"type": "link", "url": "https://a.com", "text": "A"})), "<https://a.com|A>"),
        (rich(section({"type": "link", "url": "https://a.com"})), "<https://a.com|https://a.com>"),
        (
            rich(section({"type": "broadcast", "range": "here"}, {"type": "usergroup", "usergroup_id": "S1"})),
            "<!here><!subteam^S1>",
        ),
        (rich({"type": "rich_text_list", "elements": [section({"text": "a"}), section({"text": "b"})]}), "- a\n- b"),
        (rich({"type": "rich_text_quote", "elements": [{"type": "text", "text": "a"}]}), "> a"),
        (rich({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x = 1"}]}), "x = 1"),
        ({"blocks": "none", "attachments": [None, "x"], "text": None}, ""),
        ({"blocks": [{"type": "section", "text": {"text": {"text": 1}}}, 7]}, ""),
        ({}, ""),
    ],
)
def test_text_is_read_from_blocks_and_attachments(message: dict[str, Any], expected: str) -> None:
    assert content(message) == expected


def test_deeply_nested_elements_are_left_out() -> None:
    element: dict[str, Any] = section({"type": "text", "text": "deep"})
    for _ in range(500):
        element = {"type": "rich_text_list", "elements": [element]}
    assert content(rich(element)) == ""

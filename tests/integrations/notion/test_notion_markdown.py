import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.services.notion.rules import check_blocks
from integrations.notion.markdown.blocks import batches, to_blocks
from integrations.notion.markdown.rendering import BlockNode, render
from integrations.notion.markdown.rich_text import from_markdown, plain_rich_text, to_markdown
from integrations.notion.params import LONGEST_CONTENT
from integrations.service_client import ToolFailed

Json = dict[str, object]


def text(content: str, url: str | None = None, **marks: bool) -> Json:
    """As an answer has it."""
    return {"type": "text", "plain_text": content, "href": url, "annotations": marks}


def node(kind: str, words: str = "", *children: BlockNode, **inside: object) -> BlockNode:
    return BlockNode({"id": "0" * 32, "type": kind, kind: {"rich_text": [text(words)], **inside}}, children)


FIRST = node("numbered_list_item", "a")
ROW = node("table_row", cells=[[text("a|b")], [text("c\nd")]])


def as_response(body: Json) -> BlockNode:
    """What Notion shows of a block that was sent."""
    kind = str(body["type"])
    inside = dict(body[kind])  # type: ignore[call-overload]
    children = [as_response(item) for item in inside.pop("children", ())]
    for name in ("rich_text", "caption"):
        inside[name] = [rendered(item) for item in inside.get(name, ())]
    if "cells" in inside:
        inside["cells"] = [[rendered(item) for item in cell] for cell in inside["cells"]]
    return BlockNode({"id": "0" * 32, "type": kind, kind: inside}, children)


def rendered(item: Json) -> Json:
    inside: dict[str, dict[str, str]] = item["text"]  # type: ignore[assignment]
    return item | {"plain_text": inside["content"], "href": inside.get("link", {}).get("url")}


def round_trip(markdown: str) -> str:
    return comparable(to_blocks(markdown))


def comparable(blocks: list[dict[str, Any]]) -> str:
    return render([as_response(block) for block in blocks])


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("paragraph", "a"), node("paragraph", "b")], "a\n\nb"),
        ([node("paragraph", ""), node("paragraph", "b")], "b"),
        ([node("paragraph", "a", node("paragraph", "b"))], "a\n\n  b"),
        ([node("heading_2", "a\nb")], "## a b"),
        ([node("heading_4", "a")], "#### a"),
        ([node("heading_1", "a", node("paragraph", "b"))], "# a\n\nb"),
        ([node("bulleted_list_item", "a\nb")], "- a\n  b"),
        ([node("numbered_list_item", "a"), node("numbered_list_item", "b")], "1. a\n2. b"),
        ([node("numbered_list_item", "a", list_start_index=4), node("numbered_list_item", "b")], "4. a\n5. b"),
        ([FIRST, node("paragraph", "-"), FIRST], "1. a\n\n-\n\n1. a"),
        ([node("numbered_list_item", "a", node("bulleted_list_item", "b"))], "1. a\n   - b"),
        ([node("to_do", "a", checked=True), node("to_do", "b")], "- [x] a\n- [ ] b"),
        ([node("quote", "a\nb", node("paragraph", "c"))], "> a\n> b\n>\n> c"),
        ([node("callout", "a", icon={"type": "emoji", "emoji": "💡"})], "> 💡 a"),
        ([node("callout", "a", icon={"type": "external", "external": {"url": "x"}})], "> a"),
        ([node("toggle", "a")], "▸ a"),
        ([node("toggle", "a", node("code", "x"))], "<details>\n<summary>a</summary>\n\n```\nx\n```\n\n</details>"),
        ([node("code", "x", language="python", caption=[text("so")])], "```python\nx\n```\nso"),
        ([node("code", "```\nx\n```", language="plain text")], "````\n```\nx\n```\n````"),
        ([node("equation", expression="E=mc^2")], "$$\nE=mc^2\n$$"),
        ([node("column_list", "", node("column", "", node("paragraph", "a")))], "a"),
        ([node("table_of_contents"), node("breadcrumb"), node("divider")], "---"),
        ([node("bookmark", url="https://a.example")], "[https://a.example](https://a.example)"),
        ([node("embed", url="https://a.example", caption=[text("A")])], "[A](https://a.example)"),
        ([node("image", type="file", file={"url": "https://f"}, caption=[])], "![image](https://f)"),
        ([node("file", type="external", external={"url": "https://f"}, name="a.pdf")], "[a.pdf](https://f)"),
        ([node("child_page", title="A")], f"[Page: A](https://www.notion.so/{'0' * 32})"),
        ([node("child_database", title="A")], f"[Database: A](https://www.notion.so/{'0' * 32})"),
        ([node("link_to_page", type="page_id", page_id="1-2")], "[Linked page](https://www.notion.so/12)"),
        ([node("transcription", title=[text("Weekly")])], "**Meeting notes: Weekly**"),
        ([node("new_kind")], f"[A block that the API does not show (new_kind): see https://www.notion.so/{'0' * 32}]"),
        ([node("table", "", ROW)], "|  |  |\n| --- | --- |\n| a\\|b | c d |"),
        ([node("table")], ""),
        ([BlockNode({"type": "paragraph"}), BlockNode({})], "[A block that the API does not show (None): see https://www.notion.so/]"),
    ],
)  # fmt: skip
def test_blocks_look_like_markdown(nodes: list[BlockNode], expected: str) -> None:
    assert render(nodes) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([text("a", bold=True), text("b")], "**a**b"),
        ([text(" a ", bold=True), text("b")], " **a** b"),
        ([text("a", italic=True, strikethrough=True)], "~~*a*~~"),
        ([text("a", code=True, bold=True)], "**`a`**"),
        ([text("a", url="https://a.example", bold=True)], "[**a**](https://a.example)"),
        ([text(" ", bold=True)], " "),
        ([{"type": "equation", "equation": {"expression": "x^2"}, "plain_text": "x^2"}], "$x^2$"),
        (
            [{"type": "mention", "plain_text": "Plan", "mention": {"type": "page", "page": {"id": "1-2"}}}],
            "[Plan](https://www.notion.so/12)",
        ),
        ([{"type": "mention", "plain_text": "@Ada", "mention": {"type": "user", "user": {"id": "1"}}}], "@Ada"),
    ],
)
def test_marks_look_like_markdown(items: list[dict[str, object]], expected: str) -> None:
    assert to_markdown(items) == expected


@pytest.mark.parametrize(
    "markdown",
    [
        "# One\n\n## Two\n\n### Three",
        "Words, **bold**, *slanted*, ~~gone~~, `code`, [a link](https://a.example/x_(y)).",
        "- a\n- b\n  - c\n    - d\n- e",
        "1. a\n2. b\n   - c\n3. d",
        "- [ ] a\n- [x] b",
        "> a\n> b",
        "```python\nif x:\n    pass\n\n# no heading\n```",
        "$$\nE = mc^2\n$$",
        "| a | b |\n| --- | --- |\n| 1 | \\| |",
        "---",
        "![A map](https://a.example/map.png)",
        "A paragraph\nof two lines\n\nand another.",
        "snake_case_name and 2 * 3 * 4 and a_b",
    ],
)
def test_markdown_round_trips(markdown: str) -> None:
    assert round_trip(markdown) == markdown


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        ("#### Four", "### Four"),
        ("**bold *and slanted* words**", "**bold** ***and slanted*** **words**"),
        ("#no heading", "#no heading"),
        ("## Closed ##", "## Closed"),
        ("# C#", "# C#"),
        ("- a\n\t- b", "- a\n  - b"),
        ("```makefile\na:\n\tb\n```", "```makefile\na:\n\tb\n```"),
        ("* a\n* b", "- a\n- b"),
        ("- a\n\n- b\n\n\n- c", "- a\n- b\n- c"),
        ("- a\n\n  more", "- a\n  more"),
        ("1) a", "1. a"),
        ("- a\n  goes on", "- a\n  goes on"),
        ("- a\n      - far in\n- b", "- a\n  - far in\n- b"),
        ("__bold__ and _slanted_", "**bold** and *slanted*"),
        ("```js\nx\n```", "```javascript\nx\n```"),
        ("```klingon\nx\n```", "```\nx\n```"),
        ("```\nnever closed", "```\nnever closed\n```"),
        ("~~~\nx\n~~~", "```\nx\n```"),
        ("a | b\n--- | ---\n1 | 2 | 3", "| a | b |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |"),
        ("* * *", "---"),
        ("[here](/relative)", "[here](/relative)"),
        ("<!-- block 00000000-0000-0000-0000-000000000000 -->\na", "a"),
        ("- a\r\n- b\r\n", "- a\n- b"),
        ("", ""),
        (" \n\n", ""),
    ],
)
def test_other_markdown_spellings_are_parsed(markdown: str, read: str) -> None:
    assert round_trip(markdown) == read


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        (r"2 \* 3 \* 4", "2 * 3 * 4"),
        ("AT&amp;T", "AT&T"),
        ("a  \nb", "a\nb"),
        ("<https://a.example>", "[https://a.example](https://a.example)"),
        ('[a](https://a.example "A title")', "[a](https://a.example)"),
        ("[](https://a.example)", "[https://a.example](https://a.example)"),
        ("a ![map](https://a.example/m.png) b", "a [map](https://a.example/m.png) b"),
        ("a\n![map](https://a.example/m.png)\nb", "a\n\n![map](https://a.example/m.png)\n\nb"),
        ("- a\n\n  ```\n  x\n  ```\n- b", "- a\n  ```\n  x\n  ```\n- b"),
        ("- a\n  > b", "- a\n  > b"),
        ("- a\n  - b\n\n  c", "- a\n  - b\n\n  c"),
        ("> a\n>\n> - b", "> a\n>\n> - b"),
        ("> ```\n> x\n> ```", "> ```\n> x\n> ```"),
        ("- a\n  $$\n  x\n  $$", "- a\n  $$\n  x\n  $$"),
        ("- a\n\n  | b |\n  | --- |\n  | c |", "- a\n  | b |\n  | --- |\n  | c |"),
    ],
)
def test_markdown_in_lists_quotes_and_lines_is_parsed(markdown: str, read: str) -> None:
    assert round_trip(markdown) == read


@pytest.mark.parametrize(
    "markdown",
    [
        "<b>bold</b>",
        "[a]: https://a.example\n[a]",
        "[a](javascript:x)",
        "![a](data:image/png;base64,AA)",
        "a\n===",
        r"C:\Temp",
    ],
)
def test_markdown_that_notion_cannot_hold_stays_text(markdown: str) -> None:
    assert round_trip(markdown) == markdown


def test_a_line_below_a_text_is_a_divider() -> None:
    assert round_trip("a\n---") == "a\n\n---"


def test_a_table_at_the_deepest_level_is_written_as_code() -> None:
    blocks = to_blocks("- a\n  - b\n    - c\n\n      | d | e |\n      | --- | --- |\n      | f | g |")

    check_blocks(blocks)
    assert "d | e\n    f | g" in comparable(blocks)


def test_lists_deeper_than_the_parser_follows_lose_nothing() -> None:
    words = [f"word{level}" for level in range(90)]

    read = round_trip("\n".join("  " * level + f"- {word}" for level, word in enumerate(words)))

    assert [line.strip() for line in read.split("\n")] == [f"- {word}" for word in words]


def test_quotes_deeper_than_the_parser_follows_lose_nothing() -> None:
    assert "the end" in round_trip("> " * 60 + "the end")


def test_a_table_with_too_many_missing_cells_is_refused() -> None:
    with pytest.raises(ToolFailed, match="more than 100,000 cells"):
        to_blocks("|a" * 100 + "\n" + "|-" * 100 + "\n" + "a|\n" * 1000)


def test_a_list_too_deep_for_one_request_continues_at_the_deepest_level() -> None:
    assert round_trip("- a\n  - b\n    - c\n      - d\n    - e") == "- a\n  - b\n    - c\n    - d\n    - e"


def test_an_item_with_too_many_children_is_refused() -> None:
    with pytest.raises(ToolFailed, match="at most 100 blocks"):
        to_blocks("- a\n" + "  - b\n" * 101)


def test_a_long_table_becomes_several_with_the_same_header() -> None:
    tables = to_blocks("| n |\n|---|\n" + "| 1 |\n" * 250)

    assert [len(table["table"]["children"]) for table in tables] == [100, 100, 53]
    assert len({str(table["table"]["children"][0]) for table in tables}) == 1


def test_long_text_is_split_to_notions_limit() -> None:
    assert [len(item["text"]["content"]) for item in from_markdown("x" * 4500)] == [2000, 2000, 500]
    assert "".join(item["text"]["content"] for item in plain_rich_text("ab" * 3000)) == "ab" * 3000


def test_surplus_marks_stay_as_text() -> None:
    assert from_markdown("**a** " * 80) == plain_rich_text("**a** " * 80)


@pytest.mark.parametrize(
    ("blocks", "sizes"),
    [
        (to_blocks("- a\n" * 250), [100, 100, 50]),
        (to_blocks(("- a\n" + "  - b\n" * 60) * 20), [14, 6]),
        (to_blocks("\n\n".join(["x" * 90_000] * 6)), [4, 2]),
        ([], []),
    ],
    ids=["many", "much in each", "long", "none"],
)
def test_blocks_are_sent_in_batches_of_notions_limit(blocks: list[Json], sizes: list[int]) -> None:
    parts = list(batches(blocks))

    assert [len(part) for part in parts] == sizes
    assert [item for part in parts for item in part] == blocks


@pytest.mark.parametrize(
    "piece",
    [
        "**a ",
        "*a ",
        "~~a ",
        "`a ",
        "[a ",
        "[a](http://",
        "**~~*[",
        "# # ",
        "# " + " " * 500,
        "| ",
        "``` ",
        "- - ",
        ">",
        "`",
        "[",
        "![",
        "[[a]]",
        "|a" * 256 + "\n" + "|-" * 256 + "\n" + "a|\n" * 100 + "\n",
    ],
)
def test_the_time_of_parsing_grows_with_the_length_of_any_text(piece: str) -> None:
    """Four times the text takes about four times as long; where it grows with the square, sixteen times."""
    quarter, whole = (_parse_seconds(piece, length) for length in (LONGEST_CONTENT // 4, LONGEST_CONTENT))

    assert whole < 8 * quarter + 0.05


def _parse_seconds(piece: str, length: int) -> float:
    text_ = (piece * 100_000)[: length - 1] + "`"
    started = time.process_time()
    to_blocks(text_)
    return time.process_time() - started


@given(st.text(alphabet=st.sampled_from("ab *_`~[]()#>-|+.1\n\\$!<:/"), max_size=200))
def test_any_text_becomes_valid_blocks_that_can_be_rendered(markdown: str) -> None:
    blocks = to_blocks(markdown)

    for part in batches(blocks):
        check_blocks(part)
    assert bool(round_trip(markdown)) <= bool(markdown.strip())


@given(st.text(max_size=300))
def test_no_piece_of_any_text_is_lost_between_marks(text_: str) -> None:
    assert "".join(item["text"]["content"] for item in plain_rich_text(text_)) == text_
    assert all(len(item["text"]["content"]) <= 2000 for item in from_markdown(text_))

import pytest

from integrations import services
from integrations.notion.parsing import address, block_id, database_id, page_id
from integrations.notion.property_values import InvalidValue, readable_values, title_of, to_notion, value_of
from integrations.notion.schema import PropertyDefinition, PropertySchema
from integrations.notion.tools import TOOLS
from integrations.service_client import ToolFailed

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
BARE, OTHER = ONE.replace("-", ""), TWO.replace("-", "")
SCHEMA = PropertySchema(
    (
        PropertyDefinition("Name", "title", "title"),
        PropertyDefinition("State", "status", "a", ("Open", "Done")),
        PropertyDefinition("Kind", "select", "b", ("Bug", "Idea")),
        PropertyDefinition("Sum", "rollup", "c"),
        PropertyDefinition("Age", "formula", "d"),
        PropertyDefinition("Size", "number", "e"),
        PropertyDefinition("Sure", "verification", "f"),
        PropertyDefinition("Who", "people", "g"),
    )
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (ONE, ONE),
        (BARE, ONE),
        (BARE.upper(), ONE),
        (f"  {ONE} ", ONE),
        (f"https://www.notion.so/{BARE}", ONE),
        (f"https://www.notion.so/acme/A-face-{BARE}?pvs=4#{OTHER}", ONE),
        (f"https://app.notion.com/p/acme/{ONE}", ONE),
        (f"https://acme.notion.site/{OTHER}?v={OTHER}&p={BARE}&pm=s", ONE),
        (f"collection://{ONE}", ONE),
    ],
)
def test_a_page_id_is_parsed_in_every_form(value: str, found: str) -> None:
    assert page_id(value) == found


@pytest.mark.parametrize(
    "value", ["", "The plan", "http://[", BARE[:-1], BARE + "0", 7, None, "https://www.notion.so/acme", "x" * 3000]
)
def test_a_text_without_an_id_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not an id of Notion"):
        page_id(value)


def test_a_url_distinguishes_database_page_and_block() -> None:
    whole = f"https://www.notion.so/acme/{BARE}?v={BARE}&p={OTHER}#{BARE}"

    assert page_id(whole) == TWO
    assert database_id(whole) == ONE
    assert block_id(f"https://www.notion.so/acme/Plan-{BARE}#{OTHER}") == TWO
    assert page_id(address(ONE)) == ONE


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        ("rich_text", [{"plain_text": "a", "annotations": {"bold": True}}], "**a**"),
        ("number", 0, 0),
        ("number", None, None),
        ("checkbox", False, False),
        ("select", {"name": "Bug"}, "Bug"),
        ("select", None, None),
        ("multi_select", [{"name": "a"}, {"name": "b"}], ["a", "b"]),
        ("date", {"start": "2026-12-01", "end": None}, "2026-12-01"),
        ("date", {"start": "2026-12-01", "end": "2026-12-05"}, "2026-12-01/2026-12-05"),
        ("people", [{"id": ONE, "name": "Ada"}, {"id": TWO}], ["Ada", TWO]),
        ("relation", [{"id": ONE}], [ONE]),
        ("files", [{"type": "external", "external": {"url": "https://a"}}, {"name": "a.pdf"}], ["https://a", "a.pdf"]),
        ("formula", {"type": "number", "number": 3}, 3),
        ("formula", {"type": "date", "date": {"start": "2026-12-01"}}, "2026-12-01"),
        ("rollup", {"type": "array", "array": [{"type": "select", "select": {"name": "Bug"}}]}, ["Bug"]),
        ("rollup", {"type": "number", "number": 4, "function": "sum"}, 4),
        ("unique_id", {"prefix": "T", "number": 4}, "T-4"),
        ("unique_id", {"prefix": None, "number": 4}, "4"),
        ("unique_id", {"prefix": None, "number": None}, None),
        ("verification", {"state": "verified"}, "verified"),
        ("place", {"name": None, "address": "Oslo"}, "Oslo"),
        ("created_by", {"id": ONE, "name": "Ada"}, "Ada"),
        ("created_time", "2026-12-01T08:00:00.000Z", "2026-12-01T08:00:00.000Z"),
        ("button", {}, None),
        ("of_the_future", {"a": 1}, {"a": 1}),
    ],
)
def test_a_value_is_shown_in_plain_words(kind: str, value: object, plain: object) -> None:
    assert value_of({"id": "x", "type": kind, kind: value}) == plain


def test_empty_values_are_omitted_and_the_title_is_separate() -> None:
    properties = {
        "Name": {"type": "title", "title": [{"plain_text": "A"}]},
        "None": {"type": "select", "select": None},
        "Empty": {"type": "rich_text", "rich_text": []},
        "No": {"type": "checkbox", "checkbox": False},
        "Zero": {"type": "number", "number": 0},
    }

    assert readable_values(properties) == {"No": False, "Zero": 0}
    assert title_of(properties) == "A"
    assert title_of({}) == "Untitled"


@pytest.mark.parametrize(
    ("kind", "value", "sent"),
    [
        ("rich_text", 12, [{"type": "text", "text": {"content": "12"}}]),
        ("rich_text", None, []),
        ("title", {"rich_text": [{"text": {"content": "a"}}]}, [{"text": {"content": "a"}}]),
        ("number", "12.50", 12.5),
        ("number", "", None),
        ("number", -3, -3),
        ("checkbox", "No", False),
        ("select", "Bug", {"name": "Bug"}),
        ("select", {"id": "x"}, {"id": "x"}),
        ("status", {"select": {"name": "Done"}}, {"name": "Done"}),
        ("multi_select", "a, b", [{"name": "a"}, {"name": "b"}]),
        ("multi_select", None, []),
        ("date", "2026-12-01 to 2026-12-05", {"start": "2026-12-01", "end": "2026-12-05"}),
        ("date", "", None),
        ("people", BARE, [{"object": "user", "id": ONE}]),
        ("relation", [BARE, address(TWO)], [{"id": ONE}, {"id": TWO}]),
        ("files", "https://a/b.pdf", [{"type": "external", "name": "b.pdf", "external": {"url": "https://a/b.pdf"}}]),
        ("url", "", None),
        ("email", "ada@example.com", "ada@example.com"),
        ("date", "2026-12-01 09:30", {"start": "2026-12-01T09:30"}),
        ("date", {"date": "2026-12-01"}, {"start": "2026-12-01"}),
        ("number", {"number": "5"}, 5),
        ("status", {"type": "status", "status": "Done"}, {"name": "Done"}),
    ],
)
def test_a_value_is_converted_for_notion(kind: str, value: object, sent: object) -> None:
    assert to_notion(kind, value) == {kind: sent}


@pytest.mark.parametrize(
    ("kind", "value", "complaint"),
    [
        ("formula", 1, "it cannot be written"),
        ("number", "many", "many is not a number"),
        ("number", True, "True is not a number"),
        ("number", 10**400, "is not a number"),
        ("number", "1e999", "is not a number that Notion can store"),
        ("date", "30 Nov", "30 Nov is not a date: write 2026-12-01"),
        ("date", "2026-11-31", "2026-11-31 is not a date"),
        ("date", {"start": "2026-12-01", "end": "soon"}, "soon is not a date"),
        ("checkbox", "maybe", "must be true or false"),
        ("select", "a, b", "must not contain a comma"),
        ("rich_text", True, "must be a text"),
        ("relation", "Ada", "ids of pages: `notion_search` finds"),
        ("place", "Oslo", "in the form of Notion"),
    ],
)
def test_an_invalid_value_is_refused(kind: str, value: object, complaint: str) -> None:
    with pytest.raises(InvalidValue, match=complaint):
        to_notion(kind, value)


def test_options_are_sent_in_their_existing_spelling() -> None:
    assert SCHEMA.to_notion_values({"state": "done", "b": "bug", "Name": "x"})["State"] == {"status": {"name": "Done"}}
    assert SCHEMA.to_notion_values({"Kind": "Chore"}) == {"Kind": {"select": {"name": "Chore"}}}
    assert SCHEMA.to_notion_values({"State": {"status": {"id": "x"}}}) == {"State": {"status": {"id": "x"}}}


def test_all_invalid_values_are_reported_together() -> None:
    with pytest.raises(ToolFailed) as raised:
        SCHEMA.to_notion_values({"State": "Later", "Size": "big", "Colour": "red"})

    assert "`State`: must be one of Open, Done." in raised.value.text
    assert "`Size`: big is not a number" in raised.value.text
    assert (
        "`Colour`: this property does not exist. Properties: Name (title); State (status: Open, Done)"
        in raised.value.text
    )


@pytest.mark.parametrize("value", [{"Size": 1, "size": 2}, {"Name": "a", "title": "b"}])
def test_a_repeated_property_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(ToolFailed, match="is already set"):
        SCHEMA.to_notion_values(value)


def test_many_unknown_properties_list_the_known_ones_once() -> None:
    with pytest.raises(ToolFailed) as raised:
        SCHEMA.to_notion_values(dict.fromkeys(map(str, range(20)), 1))

    assert "`6`, `7` and 12 more: these properties do not exist. Properties: Name" in raised.value.text
    assert raised.value.text.count("Properties: ") == 1


def test_more_people_than_notion_accepts_are_refused() -> None:
    with pytest.raises(InvalidValue, match="takes at most 100 values"):
        to_notion("relation", [ONE] * 101)


def test_limits_are_expressed_in_json_schema() -> None:
    words = {
        word for tool in TOOLS for text in tool.mcp_definition["inputSchema"]["properties"].values() for word in text
    }

    assert words.isdisjoint({"ge", "le"})
    assert {"minimum", "maximum", "minProperties", "maxProperties"} <= words


def test_a_large_database_is_described_in_part() -> None:
    many = PropertySchema(
        tuple(PropertyDefinition(f"P{number}", "select", "", tuple(map(str, range(99)))) for number in range(80))
    )

    assert str(many).endswith("; …")
    assert "29, …)" in str(many)
    assert "P59" in str(many)
    assert "P60" not in str(many)


def test_unknown_properties_to_show_are_refused() -> None:
    assert SCHEMA.names(["size", "b"]) == ["Size", "Kind"]
    with pytest.raises(
        ToolFailed, match=r"cannot be returned\. `Colour`, `Form`: these properties do not exist\. Properties: Name"
    ):
        SCHEMA.names(["Colour", "size", "Form"])


def test_the_manifest_lists_every_tool() -> None:
    listed = {tool.name: tool.writes for tool in services()["notion"].tools}

    assert listed == {tool.name: tool.writes for tool in TOOLS}


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({"databaseId": ONE, "filter": "{Status: Done"}, '`filter`: must be an object, such as {"Status": "Done"}.'),
        ("Tasks", "must be an object."),
    ],
)
def test_unreadable_arguments_are_refused(args: object, complaint: str) -> None:
    query = next(tool for tool in TOOLS if tool.name == "notion_query_database")

    assert query.parse(args) == [complaint]


def test_every_description_is_short_enough_for_every_client() -> None:
    assert [tool.name for tool in TOOLS if len(tool.description) > 900] == []

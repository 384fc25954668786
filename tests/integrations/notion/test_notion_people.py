"""People by name in values and in filters."""

import pytest

from demo.services.notion.data import TASKS, task_id
from demo.services.notion.store import ADA, GRACE, id_of
from tests.integrations.notion.notion_tools import CREATE, CREATE_ROW, QUERY, UPDATE_ROW, NotionTools


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ("Ada Lovelace", [ADA]),
        (" ada ", [ADA]),
        ("grace@acme.example.com", [GRACE]),
        (["Grace", ADA], [GRACE, ADA]),
        ("Ada Lovelace, Grace Hopper", [ADA, GRACE]),
        ({"name": "Ada Lovelace"}, [ADA]),
        ([{"object": "user", "id": GRACE}], [GRACE]),
        ({"people": ["Ada"]}, [ADA]),
        (None, []),
    ],
)
def test_people_are_set_by_name_or_id(notion: NotionTools, value: object, ids: list[str]) -> None:
    notion.call(UPDATE_ROW, pageId=task_id(1), properties={"Owner": value})

    sent = notion.bodies_sent(f"/pages/{task_id(1)}")[0]["properties"]["Owner"]["people"]
    assert [request["id"] for request in sent] == ids


def test_a_page_can_be_created_with_a_person_by_name(notion: NotionTools) -> None:
    notion.call(CREATE_ROW, databaseId=TASKS, properties={"Task": "x", "Owner": "Ada"})
    notion.call(CREATE, parent=TASKS, properties={"Task": "x", "Owner": "Grace"})

    assert [item["properties"]["Owner"]["people"][0]["id"] for item in notion.bodies_sent("/pages")] == [ADA, GRACE]


def test_an_unknown_person_is_reported_with_the_known_ones(notion: NotionTools) -> None:
    error = notion.failure_text(QUERY, databaseId=TASKS, filter={"Owner": "Adda Lovelace"})

    assert (
        "`Owner`: no person has the name Adda Lovelace. Members: Ada Lovelace, …. Guests can be passed by id only"
        in error
    )
    assert "Members: Ada Lovelace, Grace Hopper. Guests" in notion.failure_text(
        UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Linus"}
    )
    assert notion.fake.writes_done == []


@pytest.mark.parametrize("value", [[""], {"name": ""}, [" "]])
def test_an_empty_name_matches_no_person(notion: NotionTools, value: object) -> None:
    error = notion.failure_text(UPDATE_ROW, pageId=task_id(1), properties={"Owner": value})

    assert "`Owner`: a person must be named, or identified by id" in error
    assert notion.fake.writes_done == []


@pytest.mark.parametrize("value", ["me", f"https://www.notion.so/{task_id(1)}"])
def test_me_and_page_ids_are_refused_as_people(notion: NotionTools, value: str) -> None:
    assert "`Owner`: no person has the name " in notion.failure_text(QUERY, databaseId=TASKS, filter={"Owner": value})
    assert "`Owner`: no person has the name " in notion.failure_text(
        UPDATE_ROW, pageId=task_id(1), properties={"Owner": value}
    )


@pytest.mark.parametrize("value", ["Hopper, Grace", "Grace, Grace Hopper", ["Grace", GRACE]])
def test_a_person_is_set_once_and_a_name_may_contain_a_comma(notion: NotionTools, value: object) -> None:
    other = id_of("Tom", "2")
    notion.fake.store.users[other] = "Tom Hooper"

    notion.call(UPDATE_ROW, pageId=task_id(1), properties={"Owner": value})

    sent = notion.bodies_sent(f"/pages/{task_id(1)}")[0]["properties"]["Owner"]["people"]
    assert [request["id"] for request in sent] == [GRACE]


def test_a_partial_name_needs_the_complete_list_of_people(notion: NotionTools) -> None:
    for number in range(600):
        notion.fake.store.users[id_of("crowd", str(number))] = f"Person {number}"

    error = notion.failure_text(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Ada"})
    notion.call(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Ada Lovelace"})

    assert "people has exactly the name Ada. Among them are: " in error


def test_an_ambiguous_name_is_refused(notion: NotionTools) -> None:
    other = id_of("Ada", "2")
    notion.fake.store.users[other] = "Ada Byron"

    error = notion.failure_text(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Ada"})

    assert f"several people match Ada, so pass an id: Ada Lovelace = {ADA}, Ada Byron = {other}" in error


def test_without_the_user_capability_the_error_says_how_to_find_an_id(notion: NotionTools) -> None:
    notion.fake.capabilities.discard("users")

    error = notion.failure_text(QUERY, databaseId=TASKS, filter={"Owner": "Ada"})

    assert "`Owner`: this connection cannot list people, so pass a person's id" in error
    assert "`notion_read` with `full` true shows the ids" in error


def test_people_on_later_pages_are_found(notion: NotionTools) -> None:
    for number in range(150):
        notion.fake.store.users[id_of("crowd", str(number))] = f"Person {number}"

    notion.call(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Person 149"})

    sent = notion.bodies_sent(f"/pages/{task_id(1)}")[0]["properties"]["Owner"]["people"]
    assert sent == [{"object": "user", "id": id_of("crowd", "149")}]

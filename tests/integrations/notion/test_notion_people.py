"""People by name in values and in filters."""

import pytest

from demo.services.notion.data import TASKS, task_id
from demo.services.notion.store import ADA, GRACE, id_of
from tests.integrations.notion.notion_tools import CREATE, CREATE_ROW, QUERY, UPDATE_ROW, AtHand


@pytest.mark.parametrize(
    ("said", "ids"),
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
def test_people_are_set_by_name_or_id(notion: AtHand, said: object, ids: list[str]) -> None:
    notion.ask(UPDATE_ROW, pageId=task_id(1), properties={"Owner": said})

    sent = notion.sent(f"/pages/{task_id(1)}")[0]["properties"]["Owner"]["people"]
    assert [each["id"] for each in sent] == ids


def test_a_page_can_be_created_with_a_person_by_name(notion: AtHand) -> None:
    notion.ask(CREATE_ROW, databaseId=TASKS, properties={"Task": "x", "Owner": "Ada"})
    notion.ask(CREATE, parent=TASKS, properties={"Task": "x", "Owner": "Grace"})

    assert [each["properties"]["Owner"]["people"][0]["id"] for each in notion.sent("/pages")] == [ADA, GRACE]


def test_an_unknown_person_is_reported_with_the_known_ones(notion: AtHand) -> None:
    told = notion.refused(QUERY, databaseId=TASKS, filter={"Owner": "Adda Lovelace"})

    assert (
        "`Owner`: no person has the name Adda Lovelace. Members: Ada Lovelace, …. Guests can be passed by id only"
        in told
    )
    assert "Members: Ada Lovelace, Grace Hopper. Guests" in notion.refused(
        UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Linus"}
    )
    assert notion.world.done == []


@pytest.mark.parametrize("said", [[""], {"name": ""}, [" "]])
def test_an_empty_name_matches_no_person(notion: AtHand, said: object) -> None:
    told = notion.refused(UPDATE_ROW, pageId=task_id(1), properties={"Owner": said})

    assert "`Owner`: a person must be named, or identified by id" in told
    assert notion.world.done == []


@pytest.mark.parametrize("said", ["me", f"https://www.notion.so/{task_id(1)}"])
def test_me_and_page_ids_are_refused_as_people(notion: AtHand, said: str) -> None:
    assert "`Owner`: no person has the name " in notion.refused(QUERY, databaseId=TASKS, filter={"Owner": said})
    assert "`Owner`: no person has the name " in notion.refused(
        UPDATE_ROW, pageId=task_id(1), properties={"Owner": said}
    )


@pytest.mark.parametrize("said", ["Hopper, Grace", "Grace, Grace Hopper", ["Grace", GRACE]])
def test_a_person_is_set_once_and_a_name_may_contain_a_comma(notion: AtHand, said: object) -> None:
    other = id_of("Tom", "2")
    notion.world.store.users[other] = "Tom Hooper"

    notion.ask(UPDATE_ROW, pageId=task_id(1), properties={"Owner": said})

    sent = notion.sent(f"/pages/{task_id(1)}")[0]["properties"]["Owner"]["people"]
    assert [each["id"] for each in sent] == [GRACE]


def test_a_partial_name_needs_the_complete_list_of_people(notion: AtHand) -> None:
    for number in range(600):
        notion.world.store.users[id_of("crowd", str(number))] = f"Person {number}"

    told = notion.refused(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Ada"})
    notion.ask(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Ada Lovelace"})

    assert "people has exactly the name Ada. Among them are: " in told


def test_an_ambiguous_name_is_refused(notion: AtHand) -> None:
    other = id_of("Ada", "2")
    notion.world.store.users[other] = "Ada Byron"

    told = notion.refused(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Ada"})

    assert f"several people match Ada, so pass an id: Ada Lovelace = {ADA}, Ada Byron = {other}" in told


def test_without_the_user_capability_the_error_says_how_to_find_an_id(notion: AtHand) -> None:
    notion.world.capabilities.discard("users")

    told = notion.refused(QUERY, databaseId=TASKS, filter={"Owner": "Ada"})

    assert "`Owner`: this connection cannot list people, so pass a person's id" in told
    assert "`notion_read` with `full` true shows the ids" in told


def test_people_on_later_pages_are_found(notion: AtHand) -> None:
    for number in range(150):
        notion.world.store.users[id_of("crowd", str(number))] = f"Person {number}"

    notion.ask(UPDATE_ROW, pageId=task_id(1), properties={"Owner": "Person 149"})

    sent = notion.sent(f"/pages/{task_id(1)}")[0]["properties"]["Owner"]["people"]
    assert sent == [{"object": "user", "id": id_of("crowd", "149")}]

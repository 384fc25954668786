import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.ids import (
    ALPHABET,
    id_pattern,
    is_from_workspace,
    new_id,
    random_text,
    sortable_time,
    time_of,
    workspace_mark,
)

PREFIXES = ["ws", "key", "audit", "agent", "server"]
TIMES = st.floats(min_value=0, max_value=30_000_000_000, allow_nan=False)
TEXTS = st.text(ALPHABET, min_size=1, max_size=20)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_an_id_has_at_most_forty_plain_characters(prefix: str) -> None:
    id_ = new_id(prefix, "ws_acme", 1_800_000_000.0)

    assert len(id_) <= 40
    assert re.fullmatch(r"[a-z0-9_]+", id_)
    assert id_.startswith(f"{prefix}_")
    assert re.fullmatch(id_pattern(prefix), id_)


@pytest.mark.parametrize(
    "text", ["", "server_", "server_x", "agent_" + "0" * 33, "server_" + "0" * 32, "server_" + "0" * 34, "x"]
)
def test_other_texts_are_not_ids(text: str) -> None:
    assert not re.fullmatch(id_pattern("server"), text)


@pytest.mark.parametrize("letter", ["i", "l", "o", "u", "A", "_", "-", "\n"])
def test_ids_have_no_look_alike_letters(letter: str) -> None:
    assert letter not in ALPHABET
    assert not re.fullmatch(id_pattern("server"), "server_" + "0" * 32 + letter)


@pytest.mark.requirement("AUT-09")
def test_ids_of_one_moment_are_distinct() -> None:
    created = {new_id("server", "ws_acme", 1_800_000_000.0) for _ in range(10_000)}

    assert len(created) == 10_000
    assert len(ALPHABET) ** len(random_text()) >= 2**96
    assert len({item[20:] for item in created}) == 10_000  # by what is random in them alone


@given(TIMES, TIMES)
def test_ids_sort_by_time_of_creation(one: float, other: float) -> None:
    earlier, later = sorted([int(one * 1000), int(other * 1000)])

    first, second = (new_id("server", "ws_acme", number / 1000) for number in (earlier, later + 1))

    assert sortable_time(earlier / 1000) <= sortable_time(later / 1000)
    assert time_of(sortable_time(earlier / 1000)) <= time_of(sortable_time(later / 1000))
    assert first < second or later + 1 - earlier < 2  # a float may fall a millisecond short


@given(st.integers(min_value=0, max_value=32**9 - 1))
def test_the_time_is_read_from_an_id_to_the_millisecond(milliseconds: int) -> None:
    ordered = sortable_time(milliseconds / 1000)

    assert len(ordered) == 9
    assert abs(time_of(ordered + random_text()) * 1000 - milliseconds) <= 1.001


def test_time_has_room_for_a_thousand_years() -> None:
    assert time_of(ALPHABET[-1] * 9) > 1000 * 365 * 24 * 3600


@given(TEXTS, st.sampled_from(PREFIXES), TIMES)
def test_an_id_belongs_to_its_workspace(workspace: str, prefix: str, now: float) -> None:
    id_ = new_id(prefix, f"ws_{workspace}", now)

    assert is_from_workspace(id_, f"ws_{workspace}")
    assert workspace_mark(f"ws_{workspace}") == id_.removeprefix(f"{prefix}_")[:4]


def test_an_id_belongs_to_hardly_any_other_workspace() -> None:
    id_ = new_id("server", "ws_acme", 1_800_000_000.0)

    strangers = [number for number in range(2000) if is_from_workspace(id_, f"ws_{number}")]

    assert len(strangers) <= 1  # one in a million, for four characters


@pytest.mark.parametrize("text", ["", "server", "server_", "server_0", "_", "server-abcd"])
def test_a_text_that_is_no_id_belongs_to_no_workspace(text: str) -> None:
    assert not is_from_workspace(text, "ws_acme")


def test_the_mark_reveals_nothing_else_of_the_workspace() -> None:
    assert re.fullmatch(f"[{ALPHABET}]{{4}}", workspace_mark("ws_acme"))
    assert workspace_mark("ws_acme") == workspace_mark("ws_acme")
    assert len({workspace_mark(f"ws_{number}") for number in range(500)}) > 490


@pytest.mark.parametrize("length", [1, 20, 32])
def test_random_text_uses_the_whole_alphabet(length: int) -> None:
    created = "".join(random_text(length) for _ in range(2000 // length))

    assert set(created) == set(ALPHABET)

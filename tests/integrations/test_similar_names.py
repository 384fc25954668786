from time import process_time

import pytest

from integrations.similar_names import (
    MAX_COMPARED,
    Likeness,
    bare_name,
    similar_names,
    spelling,
    spelling_of_a_word,
    spelling_or_part,
)


def test_the_most_similar_name_comes_first() -> None:
    assert similar_names("enginering", ["engine", "Sales", "engineering"], limit=5) == ["engineering", "engine"]


def test_equally_similar_names_keep_their_order() -> None:
    assert similar_names("team-x", ["team-b", "team-a"], limit=5) == ["team-b", "team-a"]


def test_no_more_names_than_the_limit_are_suggested() -> None:
    assert similar_names("team-x", [f"team-{number}" for number in range(9)], limit=2) == ["team-0", "team-1"]


def test_names_without_likeness_are_not_suggested() -> None:
    assert similar_names("general", ["zoo", ""], limit=5) == []
    assert similar_names("", ["zoo"], limit=5) == []


@pytest.mark.parametrize(
    ("likeness", "name", "candidate", "similar"),
    [
        (spelling, "hopper", "Grace Hopper", False),
        (spelling_of_a_word, "hoper", "Grace Hopper", True),
        (spelling_of_a_word, "grace hoper", "Grace Hopper", True),
        (spelling_or_part, "order paid", "order_paid_twice_and_refunded", True),
        (spelling_or_part, "or", "order_paid_twice_and_refunded", False),
        (spelling_or_part, "orderpaid", "Order-Paid", True),
        (spelling_or_part, "-", "Order-Paid", False),
    ],
)
def test_each_likeness_finds_its_names(likeness: Likeness, name: str, candidate: str, similar: bool) -> None:
    assert bool(similar_names(name, [candidate], limit=5, likeness=likeness)) is similar


def test_a_bare_name_has_the_letters_and_digits_of_any_script() -> None:
    assert bare_name("Größe_(cm) 2") == "grössecm2"
    assert bare_name(" -_- ") == ""


def test_many_long_names_are_compared_in_a_bounded_time() -> None:
    names = [f"{number} {'ab' * 5_000}" for number in range(20_000)]
    begun = process_time()

    similar_names("ab" * 5_000, names, limit=5)

    assert process_time() - begun < 5
    assert similar_names("the last", [*("x" * 8 for _ in range(MAX_COMPARED)), "the last"], limit=5) == []

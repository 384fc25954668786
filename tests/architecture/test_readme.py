"""The README is short, and says on its first screen how to run and how to test."""

from tests.documents import README

MAX_BYTES = 9_000
FIRST_SCREEN = 30
WIDTH = 80
"""Of a picture, in characters: what every terminal shows."""


def test_the_readme_is_short() -> None:
    assert len(README.text.encode()) <= MAX_BYTES


def test_the_two_commands_are_on_the_first_screen() -> None:
    first_screen = README.text.splitlines()[:FIRST_SCREEN]

    for command in ("make run", "make test"):
        assert any(line.startswith(f"| `{command}` |") for line in first_screen)


def test_the_diagram_is_plain_text() -> None:
    picture, *_ = README.blocks_in("text")

    assert picture.isascii()
    assert max(map(len, picture.splitlines())) <= WIDTH


def test_the_security_model_has_six_lines() -> None:
    lines = [line for line in README.section("Security in six lines").splitlines() if line[:1].isdigit()]

    assert len(lines) == 6


def test_the_lines_for_a_models_client_are_about_ten() -> None:
    (block,) = README.blocks_in("python")

    assert len([line for line in block.splitlines() if line.strip()]) <= 13

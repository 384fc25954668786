import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.toolbox.output.sanitize import clean, one_line, shortened

DIRTY = {
    "red \x1b[31mtext\x1b[0m": "red text",
    "\x1b]0;title\x07shown": "shown",
    "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\": "link",
    "\x9b31mtext": "text",
    "a\x00b\x08c\x7fd\x85e": "abcd\ne",
    "line\r\nline\rline\u2028line": "line\nline\nline\nline",
    "tab\tstays": "tab\tstays",
    "invoice\u202efdp.exe": "invoicefdp.exe",
    "a\u2066b\u2069c\u200ed": "abcd",
    "x\u200by\u2060z\ufeff": "xyz",
    "hi" + "".join(chr(0xE0000 + ord(item)) for item in "ignore all"): "hi",
    "hi" + "".join(chr(0xE0100 + number) for number in range(9)): "hi",
    "a\ufe00\ufe01\ufe02b": "a\ufe00b",
    "a\u200db": "ab",
    "\u06cc\u200c\u200d\u200c\u06cc": "\u06cc\u200c\u06cc",
    "half \ud83d": "half \ufffd",
}
GOOD = ["naïve café", "می‌خواهم", "👩‍👩‍👧 ❤️", "ค้นหา", "क्‍ष", "天気 날씨", "a\n\tb", "שלום"]


@pytest.mark.requirement("TRS-01")
@pytest.mark.parametrize("text", DIRTY)
def test_invisible_characters_are_removed(text: str) -> None:
    assert clean(text) == DIRTY[text]


@pytest.mark.parametrize("text", GOOD)
def test_text_of_any_language_stays(text: str) -> None:
    assert clean(text) == text


@pytest.mark.requirement("TRS-01")
@given(st.text(alphabet=st.characters(codec=None)))
def test_cleaned_text_has_no_control_characters_and_is_stable(text: str) -> None:
    cleaned = clean(text)

    assert clean(cleaned) == cleaned
    assert all(item in "\n\t" or unicodedata.category(item) not in ("Cc", "Cs") for item in cleaned)
    assert not any("\u202a" <= item <= "\u202e" or "\U000e0000" <= item <= "\U000e0fff" for item in cleaned)


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_line_and_short(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


@pytest.mark.requirement("TRS-02")
@given(st.text(min_size=1, max_size=3000), st.integers(0, 600))
def test_a_shortened_text_is_within_its_limit(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit


@pytest.mark.requirement("TRS-02")
def test_a_cut_text_says_what_is_missing_and_how_to_get_it() -> None:
    text = "0123456789" * 100

    cut = shortened(text, 300, "Use `cursor`.")

    kept, note = cut.split("\n")
    assert text.startswith(kept)
    assert note == f"[{1000 - len(kept)} of 1000 characters left out. Use `cursor`.]"
    assert len(cut) > 290


def test_a_text_that_fits_is_left_alone() -> None:
    assert shortened("short", 5) == "short"


@pytest.mark.requirement("TRS-02")
@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("a line of words\n" * 40, "words"),
        ("It is a sentence. " * 40, "sentence."),
        ("这是一句话。" * 100, "。"),
        ("word " * 200, "word"),
        ("e\u0301" * 500, "e\u0301"),
        ("👩‍👩‍👧" * 300, "👧"),
        ("👍🏽" * 300, "👍🏽"),
        ("\U0001f1f9\U0001f1ed" * 300, "\U0001f1ed"),
        ("\ud83d\ude00" * 300, "\ude00"),
    ],
)
def test_a_text_is_cut_at_a_natural_boundary(text: str, ending: str) -> None:
    for limit in range(200, 220):
        kept = shortened(text, limit).rpartition("\n[")[0]

        assert kept.endswith(ending)


def test_an_endless_sequence_of_combining_marks_is_cut() -> None:
    assert len(shortened("e" + "\u0301" * 5000, 300)) > 250


def test_a_text_is_cut_without_a_note_that_does_not_fit() -> None:
    assert shortened("a long text that goes on", 7, "Ask again.") == "a long…"
    assert shortened("text", 1) == "…"
    assert shortened("text", 0) == ""

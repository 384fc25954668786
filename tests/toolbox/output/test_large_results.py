"""Results whose cleaning would block the event loop."""

from typing import Any

import pytest

from api.kit.fair_thread import FairThread
from api.kit.redaction import NO_SECRETS, Redactor
from api.toolbox.output.conversion import LargeResults
from api.toolbox.output.results import BEGINNING, MAX_TEXT, is_small, of_method, of_tool
from api.toolbox.output.sanitize import PART, clean
from tests.cpu_time import Measured, cpu_seconds
from tests.fuzz.stall_inputs import SECRETS
from tests.fuzz.stall_work import slowness

SECRET = "canary-f00d-for-the-upstream"
SIZE = 4_000_000
HALF_A_CODE = "\x1b["

Json = dict[str, Any]


def text_result(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}]}


LARGE = {
    "half terminal codes": text_result(HALF_A_CODE * (SIZE // 2)),
    "escapes": text_result("\x1b" * SIZE),
    "carriage returns": text_result("\r" * SIZE),
    "joiners": text_result("\u0e01\u200c" * (SIZE // 6)),
    "many texts": {"content": [{"type": "text", "text": HALF_A_CODE * (SIZE // 400)}] * 200},
    "an image of half codes": {"content": [{"type": "image", "data": HALF_A_CODE * 200_000}]},
    "a block of numbers": {"content": [{"type": "x", "a": [1] * 100_000}]},
    "structured content": {"content": [], "structuredContent": {"a": [[HALF_A_CODE]] * 15_000}},
}


@pytest.mark.parametrize("result", LARGE.values(), ids=LARGE)
async def test_a_large_result_leaves_the_event_loop_to_others(result: Json) -> None:
    """With room for a busy machine. Half terminal codes of 4 MB took 0.3 s on the loop."""
    work = Measured(LargeResults(FairThread(), "ws_a").convert(of_tool, result, Redactor([SECRET])))

    converted = await work

    assert work.longest < 0.05 * slowness()
    assert converted == of_tool(result, Redactor([SECRET]))


@pytest.mark.parametrize("result", [text_result("a"), text_result("a" * 30_000), {"structuredContent": {"a": [1, 2]}}])
def test_a_small_result_is_converted_at_once(result: Json) -> None:
    coroutine = LargeResults(FairThread(), "ws_a").convert(of_tool, result, NO_SECRETS)

    with pytest.raises(StopIteration) as end:
        coroutine.send(None)

    assert end.value.value == of_tool(result, NO_SECRETS)


@pytest.mark.parametrize("value", [{"content": [{"type": "text", "text": "\ud800"}, {}]}, {"a": "x" * 40_000}])
def test_a_result_of_unknown_or_large_size_is_not_small(value: Json) -> None:
    assert not is_small(value)


MANY_SECRETS = Redactor(SECRETS)
OF_MANY_STRINGS = {
    "ends of a secret": [SECRETS[0][-32:]] * 800,
    "empty strings": [SECRETS[0], *[""] * 10_000],
    "escapes": [SECRETS[0], *["%41" + SECRETS[0][-4:]] * 3_000],
}


@pytest.mark.parametrize("strings", OF_MANY_STRINGS.values(), ids=OF_MANY_STRINGS)
async def test_many_short_strings_leave_the_event_loop_to_others(strings: list[str]) -> None:
    """In 32 kB. With the secrets of twenty headers they took a quarter of a second on the loop."""
    result, longest = {"content": [], "structuredContent": {"a": strings}}, []
    for _ in range(3):
        work = Measured(LargeResults(FairThread(), "ws_a").convert(of_tool, result, MANY_SECRETS))
        assert await work == of_tool(result, MANY_SECRETS)
        longest.append(work.longest)

    assert min(longest) < 0.01 * slowness()


def test_only_the_beginning_of_a_long_text_is_cleaned() -> None:
    assert cpu_seconds(lambda: of_tool(text_result(HALF_A_CODE * (SIZE // 2)), NO_SECRETS)) < 0.25


def test_the_note_counts_what_was_not_looked_at() -> None:
    result = of_tool(text_result("word " * 200_000), NO_SECRETS)

    assert len(result.text) <= MAX_TEXT
    assert "of 1000000 characters left out" in result.text


def test_a_text_whose_beginning_is_invisible_has_a_note_too() -> None:
    result = of_tool(text_result("\x00" * BEGINNING + "later"), NO_SECRETS)

    assert result.text.startswith("\n[5 of 5 characters left out.")


@pytest.mark.parametrize("before", range(BEGINNING - len(SECRET), BEGINNING + 2))
def test_no_part_of_a_secret_at_the_cut_is_shown(before: int) -> None:
    text = "\x00" * (before - 10) + "k" * 10 + SECRET + " later" * 10

    assert "canary" not in of_tool(text_result(text), Redactor([SECRET])).text


def test_terminal_codes_of_a_long_text_are_removed_from_each_line() -> None:
    text = "".join(f"\x1b[31mline {number}\x1b[0m\n" for number in range(PART // 4))

    assert "[" not in clean(text)


def test_a_large_image_is_not_cleaned_before_it_is_left_out() -> None:
    result = {"content": [{"type": "image", "mimeType": f"image/{SECRET}\x00", "data": HALF_A_CODE * 1_500_000}]}

    assert cpu_seconds(lambda: of_tool(result, Redactor([SECRET]))) < 0.2
    assert of_tool(result, Redactor([SECRET])).text.startswith("[image (image/[removed]) of ")


async def test_a_large_result_of_another_method_is_converted_likewise() -> None:
    result = {"contents": [{"text": HALF_A_CODE * 1_000_000}]}
    work = Measured(LargeResults(FairThread(), "ws_a").convert(of_method, result, NO_SECRETS))

    assert await work == of_method(result, NO_SECRETS)
    assert work.longest < 0.05 * slowness()

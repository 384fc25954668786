"""Batches of call records are small and lose nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.audit.call_packing import CALLS_IN_A_BATCH, LONGEST_TEXT, SPAN_SECONDS, pack, split_into_batches, unpack
from api.audit.events import ToolCallRecord
from api.audit.repository import batch_calls
from api.kit.storage.store import MAX_CHANGES, Put, check_changes, check_sizes

CALL = ToolCallRecord(
    at=1_800_000_000.123,
    workspace_id="ws_a",
    actor_id="key_8m2d5w0rt4k7z1x9c3vb",
    actor_name="CI",
    request_id="5f0c6f3e9b3c4d0e",
    agent_id="agent_kzq91m7q1jnbva15eaqkk7edxe7e52wcn",
    server_id="server_kzq91m7q1jnbv3mf7gsqbwcw7dg3e460w",
    server_name="Weather API",
    tool="get_weather",
    outcome="ok",
    milliseconds=12,
    actor_type="api_key",
)
TEXTS = st.text(max_size=LONGEST_TEXT, alphabet=st.characters(exclude_categories=["Cs"]))
CALLS = st.builds(
    ToolCallRecord,
    at=st.integers(1_800_000_000_000, 1_800_000_005_000).map(lambda number: number / 1000),
    workspace_id=st.sampled_from(["ws_a", "ws_b", "ws_c"]),
    actor_id=TEXTS,
    actor_name=TEXTS,
    request_id=TEXTS,
    agent_id=TEXTS,
    server_id=TEXTS,
    server_name=TEXTS,
    tool=TEXTS,
    outcome=TEXTS,
    milliseconds=st.integers(0, 100_000),
    actor_type=TEXTS,
)


def stored(batch: Sequence[ToolCallRecord]) -> list[ToolCallRecord]:
    """As it comes back from a store."""
    return unpack(batch[0].workspace_id, msgspec.json.decode(msgspec.json.encode(pack(batch))))


@settings(max_examples=50)
@given(st.lists(CALLS, max_size=30))
def test_unpacking_returns_every_call_unchanged(calls: list[ToolCallRecord]) -> None:
    created = list(split_into_batches(calls))

    assert sorted((call for batch in created for call in stored(batch)), key=repr) == sorted(calls, key=repr)


@settings(max_examples=50)
@given(st.lists(CALLS, max_size=30))
def test_a_batch_has_one_workspace_and_one_second_in_order_of_time(calls: list[ToolCallRecord]) -> None:
    for batch in split_into_batches(calls):
        assert len({call.workspace_id for call in batch}) == 1
        assert batch[-1].at - batch[0].at <= SPAN_SECONDS
        assert all(earlier.at <= later.at for earlier, later in pairwise(batch))


def test_a_batch_has_at_most_a_hundred_calls() -> None:
    assert [len(batch) for batch in split_into_batches([CALL] * 250)] == [CALLS_IN_A_BATCH, CALLS_IN_A_BATCH, 50]


def test_a_batch_of_similar_calls_is_small() -> None:
    calls = [
        CALL._replace(request_id=f"{number:024x}", tool=f"tool_{number % 9}") for number in range(CALLS_IN_A_BATCH)
    ]

    one_by_one = sum(len(msgspec.json.encode(call)) for call in calls)
    assert len(msgspec.json.encode(pack(calls))) < one_by_one / 3


@pytest.mark.parametrize("text", ["\ud800", "a\udfff" * 500, "\x00" * 5000])
def test_a_text_that_no_store_accepts_does_not_prevent_other_records(text: str) -> None:
    bad, good = stored([CALL._replace(tool=text), CALL])

    assert good == CALL
    assert len(bad.tool) <= LONGEST_TEXT
    assert bad._replace(tool="") == CALL._replace(tool="")


def test_every_store_accepts_a_write_of_the_longest_texts() -> None:
    """Names have no control characters; a method is what a caller says it is."""
    worst = [
        CALL._replace(
            actor_name=f"{number:04}" + "\U0001f600" * 96,
            server_name=f"{number:04}" + "\U0001f601" * 96,
            request_id=f"{number:064}",
            tool=f"{number:04}" + "\x01" * 5000,
        )
        for number in range(3000)
    ]

    for write in batch_calls(worst):
        check_changes(write.changes)
        check_sizes([msgspec.json.encode(change.data) for change in write.changes if isinstance(change, Put)])


def test_a_write_has_no_more_changes_than_a_store_accepts() -> None:
    writes = list(batch_calls(CALL._replace(workspace_id=f"ws_{number}") for number in range(250)))

    assert [(len(write.changes), write.number) for write in writes] == [
        (MAX_CHANGES, 100),
        (MAX_CHANGES, 100),
        (50, 50),
    ]


def test_no_calls_make_no_write() -> None:
    assert list(batch_calls([])) == []


def test_calls_keep_the_addresses_of_their_clients() -> None:
    calls = [CALL._replace(client_address=address) for address in ("203.0.113.9", None, "203.0.113.9", "2001:db8::1")]

    assert stored(calls) == calls
    assert stored(calls[:1]) == calls[:1]


def test_calls_that_were_stored_without_addresses_are_read() -> None:
    """As version 0.1.0 stored them."""
    old = {name: value for name, value in pack([CALL, CALL]).items() if name in ("texts", "calls")}

    assert unpack(CALL.workspace_id, old) == [CALL, CALL]

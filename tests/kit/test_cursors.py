import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kit.crypto.secret import Secret
from api.kit.cursors import MARK_BYTES, MAX_CURSOR, CursorSigner, InvalidCursor

pytestmark = pytest.mark.requirement("REL-11")

SCOPE = "/api/workspaces/ws_a/mcp-servers"
POSITION = "server_w7pk1kd3f9g2h0n4q8v0zj5m1t7r2x9c4b"
CURSORS = CursorSigner(Secret(b"k" * 32))
POSITIONS = st.text(max_size=60)


def spelt(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unspelt(cursor: str) -> bytes:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


@given(st.text(), POSITIONS)
def test_a_cursor_gives_its_position_to_its_own_list(scope: str, position: str) -> None:
    assert CURSORS.read(scope, CURSORS.make(scope, position)) == position


@given(st.text(), st.text(), POSITIONS)
def test_a_cursor_is_refused_by_another_list(scope: str, other: str, position: str) -> None:
    if scope == other:
        return
    with pytest.raises(InvalidCursor):
        CURSORS.read(other, CURSORS.make(scope, position))


def test_scope_and_position_cannot_be_confused() -> None:
    raw = unspelt(CURSORS.make("/a", "bc"))

    with pytest.raises(InvalidCursor):
        CURSORS.read("/ab", spelt(raw[:MARK_BYTES] + b"c"))
    with pytest.raises(InvalidCursor):
        CURSORS.read("/", spelt(raw[:MARK_BYTES] + b"abc"))


@given(st.text(), POSITIONS)
def test_a_cursor_is_safe_in_a_url(scope: str, position: str) -> None:
    cursor = CURSORS.make(scope, position)

    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert cursor.isascii()
    assert len(cursor) <= MAX_CURSOR


@given(st.text())
def test_a_foreign_text_is_refused_as_a_cursor(text: str) -> None:
    with pytest.raises(InvalidCursor):
        CURSORS.read(SCOPE, text)


@given(st.binary(max_size=100))
def test_foreign_bytes_are_refused_as_a_cursor(raw: bytes) -> None:
    with pytest.raises(InvalidCursor):
        CURSORS.read(SCOPE, spelt(raw))


def test_no_bit_of_a_cursor_can_be_flipped() -> None:
    raw = unspelt(CURSORS.make(SCOPE, POSITION))

    for bit in range(8 * len(raw)):
        turned = bytearray(raw)
        turned[bit // 8] ^= 1 << bit % 8
        with pytest.raises(InvalidCursor):
            CURSORS.read(SCOPE, spelt(bytes(turned)))


@pytest.mark.parametrize("position", ["a", "ab", "abc"])
def test_one_position_has_one_cursor(position: str) -> None:
    cursor = CURSORS.make(SCOPE, position)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    others = [cursor[:-1] + letter for letter in alphabet if letter != cursor[-1]]  # some differ in unused bits only

    for other in [*others, cursor + "=", cursor + "==", f" {cursor}", f"{cursor}\n", cursor.lower(), cursor[:-1]]:
        with pytest.raises(InvalidCursor):
            CURSORS.read(SCOPE, other)
    assert CURSORS.make(SCOPE, position) == cursor


def test_another_key_makes_other_cursors() -> None:
    other = CursorSigner(Secret(b"o" * 32))

    assert other.make(SCOPE, POSITION) != CURSORS.make(SCOPE, POSITION)
    with pytest.raises(InvalidCursor):
        CURSORS.read(SCOPE, other.make(SCOPE, POSITION))


def test_a_very_long_cursor_is_not_decoded() -> None:
    long = CURSORS.make(SCOPE, "p" * MAX_CURSOR)
    assert len(long) > MAX_CURSOR

    with pytest.raises(InvalidCursor):
        CURSORS.read(SCOPE, long)


def test_the_positions_of_our_lists_fit() -> None:
    assert len(CURSORS.make(SCOPE, POSITION)) < MAX_CURSOR / 5

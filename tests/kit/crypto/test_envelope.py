import contextlib
import os
import struct
import time
import traceback

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from api.kit.crypto.envelope import CannotOpen, bind, decrypt, derive, encrypt, from_text, key_version, to_text
from api.kit.crypto.secret import Secret

KEY = Secret(bytes(range(100, 132)))
OTHER_KEY = Secret(bytes(range(200, 232)))
CONTEXT = bind("item", "WS#w", "SERVER#s", "headerValue")
TOKEN = Secret("xoxb-canary-token")
FIRST_RELEASE = (
    "UAEBAAAABwABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f7k73ZlTTVrE0_iPTfr-C3qsmyFd0-N-iIzUdS0QyQ9wAAQIDBAUGBwgJCg"
    "tLmv03_kzaoDhzTYTJof6Q-j3Jk8ex_GR9A9jSzOSCAQ_94C-5k0wRh3PDJFyMP5t9tqRaTN7hM9__tdDanBdJ7FAbBNQ_rL_vS-2OFSuHxQ"
)
HEADER_BYTES = 3 + 4 + 32 + 32 + 12

parts = st.lists(st.text(max_size=6), max_size=4)


def written_out(key: Secret, context: bytes, salt: bytes, nonce: bytes, commitment: bytes | None = None) -> bytes:
    """The format, written a second time from its description; any other commitment may be put in."""
    derived = HKDF(SHA512(), 64, salt=salt, info=b"plugboard/seal/v1|" + context).derive(key.reveal())
    header = b"P\x01\x01" + struct.pack(">I", 7) + salt + (commitment or derived[32:]) + nonce
    framed = struct.pack(">I", len(TOKEN)) + TOKEN.reveal()
    padded = framed + bytes(64 - len(framed))
    return header + AESGCM(derived[:32]).encrypt(nonce, padded, header + context)


def test_a_sealed_secret_opens_with_the_same_key_and_context() -> None:
    envelope = encrypt(KEY, 7, CONTEXT, TOKEN)

    assert decrypt(KEY, CONTEXT, envelope) == TOKEN
    assert key_version(envelope) == 7
    assert TOKEN.reveal() not in envelope


@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_any_bytes_are_opened_unchanged(plaintext: bytes, version: int) -> None:
    envelope = encrypt(KEY, version, CONTEXT, Secret(plaintext))

    assert decrypt(KEY, CONTEXT, envelope).reveal() == plaintext
    assert key_version(envelope) == version


def test_the_format_is_the_one_described() -> None:
    assert decrypt(KEY, CONTEXT, written_out(KEY, CONTEXT, os.urandom(32), os.urandom(12))) == TOKEN


def test_an_envelope_of_the_first_release_still_opens() -> None:
    assert decrypt(KEY, CONTEXT, from_text(FIRST_RELEASE)) == TOKEN


@pytest.mark.requirement("ENC-02")
def test_no_bit_of_an_envelope_can_be_flipped() -> None:
    envelope = encrypt(KEY, 7, CONTEXT, TOKEN)

    for position in range(len(envelope) * 8):
        flipped = bytearray(envelope)
        flipped[position // 8] ^= 1 << position % 8
        with pytest.raises(CannotOpen):
            decrypt(KEY, CONTEXT, bytes(flipped))


@pytest.mark.requirement("ENC-02")
@given(st.binary(max_size=200), st.data())
def test_no_altered_envelope_opens(plaintext: bytes, data: st.DataObject) -> None:
    envelope = encrypt(KEY, 7, CONTEXT, Secret(plaintext))
    at = data.draw(st.integers(0, len(envelope) - 1))
    other = data.draw(st.integers(1, 255))
    altered = envelope[:at] + bytes([envelope[at] ^ other]) + envelope[at + 1 :]

    with pytest.raises(CannotOpen):
        decrypt(KEY, CONTEXT, altered)


@pytest.mark.requirement("ENC-02")
def test_a_shorter_or_longer_envelope_does_not_open() -> None:
    envelope = encrypt(KEY, 7, CONTEXT, TOKEN)

    for wrong in [envelope[:length] for length in range(len(envelope))] + [envelope + b"\0", envelope * 2]:
        with pytest.raises(CannotOpen):
            decrypt(KEY, CONTEXT, wrong)


@given(st.binary(max_size=400))
def test_bytes_that_are_no_envelope_do_not_open(anything: bytes) -> None:
    with pytest.raises(CannotOpen):
        decrypt(KEY, CONTEXT, anything)


def test_another_key_does_not_open_it() -> None:
    with pytest.raises(CannotOpen):
        decrypt(OTHER_KEY, CONTEXT, encrypt(KEY, 7, CONTEXT, TOKEN))


@pytest.mark.requirement("ENC-03")
def test_a_ciphertext_that_is_valid_under_a_key_it_is_not_committed_to_does_not_open() -> None:
    salt, nonce = os.urandom(32), os.urandom(12)
    of_other = HKDF(SHA512(), 64, salt=salt, info=b"plugboard/seal/v1|" + CONTEXT).derive(OTHER_KEY.reveal())[32:]
    crafted = written_out(KEY, CONTEXT, salt, nonce, commitment=of_other)

    with pytest.raises(CannotOpen):
        decrypt(KEY, CONTEXT, crafted)

    one_time = HKDF(SHA512(), 64, salt=salt, info=b"plugboard/seal/v1|" + CONTEXT).derive(KEY.reveal())[:32]
    authenticated = crafted[:HEADER_BYTES] + CONTEXT
    assert TOKEN.reveal() in AESGCM(one_time).decrypt(
        nonce, crafted[HEADER_BYTES:], authenticated
    )  # GCM would not mind


@pytest.mark.requirement("ENC-04")
def test_the_same_secret_never_gives_the_same_envelope() -> None:
    envelopes = [encrypt(KEY, 7, CONTEXT, TOKEN) for _ in range(10_000)]

    assert len({envelope[7:39] for envelope in envelopes}) == 10_000
    assert len({envelope[HEADER_BYTES:] for envelope in envelopes}) == 10_000


@pytest.mark.requirement("ENC-05")
def test_the_size_reveals_a_bucket_of_64_bytes_and_not_the_length() -> None:
    sizes = {length: len(encrypt(KEY, 7, CONTEXT, Secret(bytes(length)))) for length in range(200)}

    assert {sizes[length] for length in range(61)} == {HEADER_BYTES + 64 + 16}
    assert {sizes[length] for length in range(61, 125)} == {HEADER_BYTES + 128 + 16}


def test_a_length_that_runs_over_its_end_does_not_open() -> None:
    salt, nonce = os.urandom(32), os.urandom(12)
    derived = HKDF(SHA512(), 64, salt=salt, info=b"plugboard/seal/v1|" + CONTEXT).derive(KEY.reveal())
    header = b"P\x01\x01" + struct.pack(">I", 7) + salt + derived[32:] + nonce
    lying = header + AESGCM(derived[:32]).encrypt(nonce, struct.pack(">I", 61) + bytes(60), header + CONTEXT)

    with pytest.raises(CannotOpen):
        decrypt(KEY, CONTEXT, lying)


@given(parts, parts)
def test_different_lists_of_parts_make_different_contexts(some: list[str], others: list[str]) -> None:
    assert (bind(*some) == bind(*others)) == (some == others)


def test_parts_cannot_run_into_each_other() -> None:
    assert len({bind("ab", "c"), bind("a", "bc"), bind("abc"), bind("abc", ""), bind("", "abc")}) == 5


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="16"):
        encrypt(Secret(bytes(16)), 1, CONTEXT, TOKEN)


@given(st.binary(max_size=100))
def test_text_and_bytes_are_the_same_envelope(envelope: bytes) -> None:
    assert from_text(to_text(envelope)) == envelope


def test_no_character_of_the_text_can_be_changed_or_added() -> None:
    text = to_text(encrypt(KEY, 7, CONTEXT, TOKEN)[:-1])  # of a length where the last character has unused bits
    changed = [text[:at] + other + text[at + 1 :] for at in range(len(text)) for other in "AZa9-_=+ \n\u00e9"]
    added = [text[:at] + other + text[at:] for at in range(len(text) + 1) for other in "=\n +/"]

    for wrong in {*changed, *added} - {text}:
        with contextlib.suppress(CannotOpen):
            assert from_text(wrong) != from_text(text)


def test_a_derived_key_reveals_nothing_of_its_parent_and_differs_by_purpose() -> None:
    keys = [KEY, derive(KEY, "cursor"), derive(KEY, "fingerprint"), derive(OTHER_KEY, "cursor")]

    assert len({key.reveal() for key in keys}) == 4
    assert {len(key) for key in keys} == {32}
    assert derive(KEY, "cursor") == derive(KEY, "cursor")


@pytest.mark.requirement("ENC-13")
def test_a_failure_shows_neither_key_nor_secret_even_with_local_variables() -> None:
    envelope = bytearray(encrypt(KEY, 7, CONTEXT, TOKEN))
    envelope[-1] ^= 1

    with pytest.raises(CannotOpen) as raised:
        decrypt(KEY, CONTEXT, bytes(envelope))

    shown = "".join(traceback.TracebackException.from_exception(raised.value, capture_locals=True).format())
    one_time = HKDF(SHA512(), 64, salt=bytes(envelope[7:39]), info=b"plugboard/seal/v1|" + CONTEXT).derive(
        KEY.reveal()
    )[:32]
    assert "once = " in shown
    for hidden in (KEY.reveal(), one_time, TOKEN.reveal()):
        assert repr(hidden)[2:-1] not in shown


@pytest.mark.requirement("ENC-19")
def test_a_kilobyte_is_sealed_and_opened_in_far_less_than_a_millisecond() -> None:
    secret, took = Secret(bytes(1024)), []
    for _ in range(2000):
        began = time.perf_counter()
        decrypt(KEY, CONTEXT, encrypt(KEY, 7, CONTEXT, secret))
        took.append(time.perf_counter() - began)

    assert sorted(took)[len(took) // 2] < 0.001

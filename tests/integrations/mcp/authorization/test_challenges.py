import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrations.mcp.authorization import Challenge, challenge_of

PLACE = "https://mcp.example.com/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("header", "scopes", "error"),
    [
        (f'Bearer resource_metadata="{PLACE}"', None, None),
        (f"Bearer resource_metadata={PLACE}", None, None),
        (f'bearer   RESOURCE_METADATA = "{PLACE}" ,Scope="a b"', ("a", "b"), None),
        (f'Bearer error="invalid_token", x="No, \\"none\\"", resource_metadata="{PLACE}"', None, "invalid_token"),
        (
            f'Bearer error="insufficient_scope" scope="a:1  b:2" resource_metadata="{PLACE}"',
            ("a:1", "b:2"),
            "insufficient_scope",
        ),
        (f'Basic realm="scope=\\"x\\", Bearer error=\\"y\\"", Bearer resource_metadata="{PLACE}"', None, None),
        (f'Negotiate YII=, Bearer resource_metadata="{PLACE}", scope=admin', ("admin",), None),
        (f'DPoP algs="ES256", scope="other", Bearer scope="own", resource_metadata="{PLACE}"', ("own",), None),
        (f'Bearer resource_metadata="{PLACE}", scope="own", DPoP algs="ES256", error="use_dpop_nonce"', ("own",), None),
        (f'Bearer, Basic realm=x, Bearer realm="y", resource_metadata="{PLACE}"', None, None),
        (f',, Bearer ,resource_metadata="{PLACE}",', None, None),
        (f'Bearer scope=, resource_metadata="{PLACE}', None, None),
    ],
)
def test_a_challenge_is_read_however_it_is_written(
    header: str, scopes: tuple[str, ...] | None, error: str | None
) -> None:
    assert challenge_of(header) == Challenge(PLACE, scopes, error)


@pytest.mark.parametrize(
    "headers",
    [
        *(None, "", [], "Bearer", 'Basic realm="Bearer"', "Negotiate", 'scope="of nobody"', "Bearer abc123=="),
        *('"Bearer scope=x"', "Bearer {scope=x}"),
    ],
)
def test_where_bearer_is_not_asked_for_with_anything_there_is_nothing(headers: str | list[str] | None) -> None:
    assert challenge_of(headers) == Challenge()


def test_several_headers_are_one_challenge_and_the_first_word_holds() -> None:
    said = ['Basic realm="never closed', 'Bearer scope="first"', 'Bearer scope="second", error="invalid_token"']

    assert challenge_of(said) == Challenge(scopes=("first",), error="invalid_token")


def test_quoted_characters_stand_for_themselves() -> None:
    assert (
        challenge_of(r'Bearer resource_metadata="https:\/\/h.example\/a\"b"').resource_metadata
        == 'https://h.example/a"b'
    )


def test_what_is_too_long_or_no_word_is_left_out() -> None:
    long = "x" * 2049
    header = f'Bearer resource_metadata="{long}", scope="a {long} é b a", error="Please call 555 <script>"'

    assert challenge_of(header) == Challenge(scopes=("a", "b"))


def test_no_more_scopes_are_taken_in_than_anybody_could_ask_for() -> None:
    scopes = challenge_of(f'Bearer scope="{" ".join(map(str, range(3000)))}"').scopes

    assert scopes
    assert len(scopes) == 100


@given(st.text() | st.text(alphabet='Bearer scope="\\=,; \t{}'))
def test_no_header_breaks_it(header: str) -> None:
    assert isinstance(challenge_of(header), Challenge)
    assert isinstance(challenge_of([header, f"Bearer {header}"]), Challenge)


@pytest.mark.parametrize("part", ["a", "a ", 'a="', "a=", "\\", 'a="\\', "é", "a{", " ", ",", '"', "a=b,"])
def test_a_header_that_is_made_to_be_slow_is_not(part: str) -> None:
    header = f"Bearer {part * (60_000 // len(part))}"
    began = time.process_time()

    challenge_of(header)

    assert time.process_time() - began < 0.5

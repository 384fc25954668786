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
def test_a_challenge_is_parsed_in_every_form(header: str, scopes: tuple[str, ...] | None, error: str | None) -> None:
    assert challenge_of(header) == Challenge(PLACE, scopes, error)


@pytest.mark.parametrize(
    "headers",
    [
        *(None, "", [], "Bearer", 'Basic realm="Bearer"', "Negotiate", 'scope="of nobody"', "Bearer abc123=="),
        *('"Bearer scope=x"', "Bearer {scope=x}"),
    ],
)
def test_a_header_without_bearer_parameters_is_no_challenge(headers: str | list[str] | None) -> None:
    assert challenge_of(headers) == Challenge()


def test_several_headers_form_one_challenge_and_the_first_value_wins() -> None:
    text = ['Basic realm="never closed', 'Bearer scope="first"', 'Bearer scope="second", error="invalid_token"']

    assert challenge_of(text) == Challenge(scopes=("first",), error="invalid_token")


def test_escaped_characters_are_unescaped() -> None:
    assert (
        challenge_of(r'Bearer resource_metadata="https:\/\/h.example\/a\"b"').resource_metadata
        == 'https://h.example/a"b'
    )


def test_oversized_or_invalid_values_are_left_out() -> None:
    long = "x" * 2049
    header = f'Bearer resource_metadata="{long}", scope="a {long} é b a", error="Please call 555 <script>"'

    assert challenge_of(header) == Challenge(scopes=("a", "b"))


def test_the_number_of_scopes_in_a_challenge_is_limited() -> None:
    scopes = challenge_of(f'Bearer scope="{" ".join(map(str, range(3000)))}"').scopes

    assert scopes
    assert len(scopes) == 100


@given(st.text() | st.text(alphabet='Bearer scope="\\=,; \t{}'))
def test_any_header_is_parsed_without_an_error(header: str) -> None:
    assert isinstance(challenge_of(header), Challenge)
    assert isinstance(challenge_of([header, f"Bearer {header}"]), Challenge)


@pytest.mark.parametrize("part", ["a", "a ", 'a="', "a=", "\\", 'a="\\', "é", "a{", " ", ",", '"', "a=b,"])
def test_a_hostile_header_is_parsed_quickly(part: str) -> None:
    header = f"Bearer {part * (60_000 // len(part))}"
    began = time.process_time()

    challenge_of(header)

    assert time.process_time() - began < 0.5

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.toolbox.output.redaction import REMOVED, SHORTEST_SECRET, Redactor
from api.toolbox.output.results import BEGINNING, of_method
from api.toolbox.output.sanitize import safe_line

SECRETS = st.text(min_size=SHORTEST_SECRET, max_size=60).filter(lambda text: not set(text) & set(REMOVED))
FORMS = {
    "exact": lambda text: text,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64url without padding": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "url": lambda text: quote(text, safe=""),
    "url with slashes": quote,
    "form": quote_plus,
    "url in small letters": lambda text: re.sub("%..", lambda value: value[0].lower(), quote(text, safe="")),
    "json": lambda text: json.dumps(text)[1:-1],
    "json in unicode": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json with slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "html": html.escape,
}


@pytest.mark.requirement("TRS-03")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", ["xoxb-123/456+789=", 'p"ä\\s&w<0>rd \n', "plain-secret", "🔑🔑🔑🔑🔑🔑"])
def test_a_secret_is_removed_in_every_encoding(form: str, secret: str) -> None:
    shown = FORMS[form](secret)

    assert shown not in Redactor([secret])(f"before {shown} after {shown}")


@pytest.mark.requirement("TRS-03")
@given(SECRETS, st.sampled_from(sorted(FORMS)), st.text(alphabet="xyz ", max_size=20))
def test_no_secret_survives(secret: str, form: str, around: str) -> None:
    shown = FORMS[form](secret)

    assert shown not in Redactor([secret])(f"{around}{shown}{around}")


@pytest.mark.requirement("TRS-03")
@pytest.mark.parametrize("secret", ["Pass%word1", "secret%", "%Secret", "ends%2", "100%sure!", "a/B%41c"])
@pytest.mark.parametrize("in_case", [str.upper, str.lower])
def test_a_secret_with_a_percent_sign_is_removed_in_any_case(secret: str, in_case: Callable[[str], str]) -> None:
    assert in_case(secret) not in Redactor([secret])(f"login failed for {in_case(secret)} (50 % of tries)")


@pytest.mark.requirement("TRS-03")
@pytest.mark.parametrize("user", ["a", "ab", "abc", "abcd"])
def test_a_password_is_removed_from_basic_credentials_at_every_alignment(user: str) -> None:
    shown = base64.b64encode(f"{user}:correct-horse-battery".encode()).decode()

    assert REMOVED in Redactor(["correct-horse-battery"])(shown)


@pytest.mark.requirement("TRS-03")
def test_a_longer_secret_is_removed_whole_where_it_holds_a_shorter_one() -> None:
    assert Redactor(["secret-token", "secret-token-and-more"])("secret-token-and-more") == REMOVED


def test_text_that_is_too_short_to_be_a_secret_stays() -> None:
    assert Redactor(["test", "12345", ""])("a test of 12345") == "a test of 12345"


@given(st.text())
def test_a_text_without_secrets_is_left_alone(text: str) -> None:
    assert Redactor(["no-such-secret-in-there"])(text) == text


LONG_SECRET = "canary-" + "".join(f"{number:04}" for number in range(120))


@pytest.mark.requirement("TRS-03")
def test_a_line_shows_no_piece_of_a_secret_that_its_cut_divides() -> None:
    """Redaction shortens the text, so that what was at the cut would come to stand within what is shown."""
    line = safe_line(LONG_SECRET * 1000, Redactor([LONG_SECRET]), limit=1000)

    assert line.removesuffix("…").replace(REMOVED, "") in REMOVED


@pytest.mark.requirement("TRS-03")
def test_a_result_shows_no_piece_of_a_secret_that_its_cut_divides() -> None:
    result = of_method({"text": LONG_SECRET * (2 * BEGINNING // len(LONG_SECRET))}, Redactor([LONG_SECRET]))

    assert REMOVED in result.text
    assert "canary" not in result.text


@pytest.mark.parametrize("length", [100, 1000, 5000])
def test_the_beginning_of_a_text_without_secrets_is_kept(length: int) -> None:
    assert Redactor([LONG_SECRET]).beginning("x" * 2000, length) == "x" * min(length, 2000)

"""Cuts that divide a repeated secret: redaction shortens the text, so the piece at the cut moves into what is shown."""

import pytest

from api.kit.redaction import REMOVED, Redactor
from api.toolbox.output.results import BEGINNING, of_method
from api.toolbox.output.sanitize import safe_line

SECRET = "canary-" + "".join(f"{number:04}" for number in range(120))


@pytest.mark.requirement("TRS-03")
def test_a_line_shows_no_piece_of_a_secret_that_its_cut_divides() -> None:
    line = safe_line(SECRET * 1000, Redactor([SECRET]), limit=1000)

    assert line.removesuffix("…").replace(REMOVED, "") in REMOVED


@pytest.mark.requirement("TRS-03")
def test_a_result_shows_no_piece_of_a_secret_that_its_cut_divides() -> None:
    result = of_method({"text": SECRET * (2 * BEGINNING // len(SECRET))}, Redactor([SECRET]))

    assert REMOVED in result.text
    assert "canary" not in result.text

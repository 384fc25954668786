import json

import pytest
from pydantic import ValidationError

from api import errors
from api.errors import FieldError, PreconditionFailed, ValidationFailed, problem_body
from api.http.models import RequestModel
from api.http.preconditions import check_if_match
from api.http.responses import etag, problem
from api.http.validation import invalid

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.AppError) and kind is not errors.AppError
]


@pytest.mark.parametrize("header", [None, '"3"', "3", "*", '"2", "3"', '"3","4"', ' "3" ', '"2" , *'])
def test_an_if_match_with_the_current_version_passes(header: str | None) -> None:
    check_if_match(header, 3)


@pytest.mark.parametrize("header", ["", '"2"', "2", 'W/"3"', '"33"', "'3'", '"3', '""', ",", '"03"', '" 3"'])
def test_any_other_if_match_is_stale(header: str) -> None:
    with pytest.raises(PreconditionFailed):
        check_if_match(header, 3)


def test_an_etag_is_the_version_in_quotes() -> None:
    assert etag(3) == '"3"'


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_problem_is_a_problem_document(kind: type[errors.AppError]) -> None:
    error = kind.__new__(kind)
    errors.AppError.__init__(error, "What to do.")

    assert problem(error).status_code == kind.status
    assert json.loads(problem_body(error)) == {
        "type": f"urn:plugboard:problem:{kind.code}",
        "title": kind.title,
        "status": kind.status,
        "code": kind.code,
        "detail": "What to do.",
    }


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in KINDS]

    assert len(set(codes)) == len(codes)


def test_every_error_class_is_in_the_tree_of_the_docstring() -> None:
    assert errors.__doc__
    for kind in KINDS:
        line = next(line for line in errors.__doc__.splitlines() if kind.__name__ in line.replace(",", "").split())
        assert str(kind.status) in line, f"{kind.__name__} is not shown, or with another status"


def test_field_errors_are_in_the_body() -> None:
    body = json.loads(problem_body(ValidationFailed("See.", errors=[FieldError("name", "Required.")])))

    assert body["errors"] == [{"path": "name", "message": "Required."}]


@pytest.mark.requirement("ENC-13")
def test_an_error_and_its_causes_do_not_repeat_the_input() -> None:
    class Body(RequestModel):
        number: int

    with pytest.raises(ValidationError) as caught:
        Body.model_validate({"number": "canary"})
    refusal = invalid(Body, caught.value)

    assert "canary" not in repr(caught.value)
    assert "canary" not in problem_body(refusal).decode()
    assert [error.path for error in refusal.errors] == ["number"]


def test_a_very_long_name_is_not_repeated() -> None:
    class Body(RequestModel):
        number: int

    with pytest.raises(ValidationError) as caught:
        Body.model_validate({"number": 1, "canary" * 20: 1})

    assert [error.path for error in invalid(Body, caught.value).errors] == ["…"]

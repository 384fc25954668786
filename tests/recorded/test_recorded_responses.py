"""Plugboard answers as it did when the responses were recorded."""

from hashlib import sha256

import pytest

from tests.http.operations_on_workspace import CONTRACT, OPERATIONS
from tests.recorded.comparison import differences, report
from tests.recorded.intended_changes import NEW_OPERATIONS, patched
from tests.recorded.recording import CHECKSUMS, FOLDER, read
from tests.recorded.runner import run
from tests.recorded.scripts import SCRIPTS

FEWEST_REQUESTS = 300
NEVER_PLAYED = {"internal"}
"""The problem of Plugboard itself, which no request causes."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_responses_are_as_recorded(name: str) -> None:
    found = differences(patched(read(name)), run(SCRIPTS[name]))

    assert not found, report(found)


def test_recordings_are_never_changed() -> None:
    checksums = {f"responses/{path.name}": sha256(path.read_bytes()).hexdigest() for path in sorted(FOLDER.iterdir())}
    lines = [line.split("  ") for line in CHECKSUMS.read_text(encoding="utf-8").splitlines()]

    assert checksums == {name: checksum for checksum, name in lines}


def test_every_script_has_a_recording_and_every_recording_a_script() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == SCRIPTS.keys()


def test_the_names_of_a_script_s_requests_differ() -> None:
    names = {name: [entry["name"] for entry in read(name)["responses"]] for name in SCRIPTS}

    assert [name for name, each in names.items() if len(set(each)) < len(each)] == []


def test_every_operation_and_every_problem_is_recorded() -> None:
    entries = [entry for name in SCRIPTS for entry in patched(read(name))["responses"]]
    operations = {entry.get("operation") for entry in entries}
    problems = {
        entry["body"]["code"] for entry in entries if isinstance(entry["body"], dict) and "code" in entry["body"]
    }

    assert len(entries) >= FEWEST_REQUESTS
    assert {str(each) for each in OPERATIONS} - operations == NEW_OPERATIONS
    assert codes_of_the_contract() - problems == NEVER_PLAYED


def codes_of_the_contract() -> set[str]:
    responses = CONTRACT["components"]["responses"].values()
    return {code for each in responses for code in each["content"]["application/problem+json"]["examples"]}

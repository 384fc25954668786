"""The audit trail is append-only: no code changes a record."""

import ast
from pathlib import Path

import pytest

from api.audit import repository
from api.kit.storage.store import IfAbsent, Put

PROJECT = Path(__file__).parents[2]
TRAIL = "AUDIT" + "#"


def names_the_trail(source: str) -> bool:
    nodes = ast.walk(ast.parse(source))
    return any(isinstance(node, ast.Constant) and TRAIL in str(node.value) for node in nodes)


def changes_made_in(source: str) -> list[str]:
    """The kinds of changes that the code makes, and the conditions that they hold under."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call.func)
        for call in calls
        if ast.unparse(call.func) in {"Put", "Delete", "IfAbsent", "Always", "IfPresent", "IfVersion"}
    ]


@pytest.mark.requirement("AUD-02")
def test_only_the_audit_repository_knows_its_partitions() -> None:
    names = {
        str(file.relative_to(PROJECT))
        for folder in ("api", "integrations")
        for file in (PROJECT / folder).rglob("*.py")
        if names_the_trail(file.read_text())
    }

    assert names == {"api/audit/repository.py"}


@pytest.mark.requirement("AUD-02")
def test_the_audit_repository_only_adds() -> None:
    source = (PROJECT / "api/audit/repository.py").read_text()

    assert sorted(changes_made_in(source)) == ["IfAbsent", "Put"]


@pytest.mark.requirement("AUD-02")
def test_a_record_never_replaces_another() -> None:
    record = repository.AuditRecord(
        "2027-01-15T08:00:00.000Z", "a.b", "a", "id", "name", "api_key", "k", "key", "request"
    )
    change = repository.add_record("ws_a", record, 1_800_000_000.0, 0)

    assert isinstance(change, Put)
    assert change.condition == IfAbsent()
    assert change.expires_at == 1_800_000_000 + 400 * 86_400


@pytest.mark.requirement("AUD-02")
@pytest.mark.parametrize(
    ("source", "kinds"),
    [("Delete(Key(p, s), Always())", ["Always", "Delete"]), ("Put(key, {}, IfVersion(1))", ["IfVersion", "Put"])],
)
def test_another_kind_of_change_is_detected(source: str, kinds: list[str]) -> None:
    assert sorted(changes_made_in(source)) == kinds
    assert names_the_trail(f"Key(f'AUDIT#{{workspace}}', sk); {source}")

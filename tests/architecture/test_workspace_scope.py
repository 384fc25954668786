"""Which code can reach into a workspace at all: the files named here, each with its reason, and no others."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.modules import parsed

PROJECT = Path(__file__).parents[2]
OWN = "WS" + "#"
OPERATIONS = {"get", "get_many", "query", "write"}

PARTITION_NAMERS = {
    "api/access/context.py",  # the one place where an id becomes a partition
}
PARTITION_BUILDERS = {
    "api/access/context.py",  # its home
    "api/access/authenticator.py",  # from the path of the request with its key, or for background jobs
    "api/workspaces/service.py",  # of the workspace that it makes
    "api/toolbox/listing/caches.py",  # whose share of the memory an entry counts for
    "api/workspaces/repository.py",  # for operators: the list of workspaces, and clearing away what a deleted one left
    "api/main/commands.py",  # for the operator at the machine: keys of all workspaces, or of the one that was named
}
CONTEXT_READERS = {
    "api/access/context.py",  # its home
    "api/access/idempotency/records.py",  # the record of a request lies beside what the request made
    "api/access/record_limits.py",  # the number of records is stored beside them
    "api/access/repository.py",  # of a snapshot, which `access` opened
    "api/access/principal_cache.py",  # of a snapshot: who was checked is remembered for that partition alone
    "api/agents/repository.py",
    "api/servers/repository.py",
    "api/workspaces/repository.py",
    "api/audit/journal.py",  # the journal: every change goes through it and renews the revision
    "api/api_keys/service.py",  # the keys of all owners have one repository, so the service says whose
    "api/servers/config_sealing.py",  # to seal for the workspace, and to open what it merges
    "api/workspaces/service.py",  # to destroy the data keys of the workspace
    "api/toolbox/protocol_repository.py",
    "api/toolbox/tool_name_repository.py",
    "api/toolbox/toolsets/registry.py",  # whose share of the memory a toolset counts for
    "api/toolbox/credentials/static.py",  # to open what is sealed for the workspace
    "api/connections/repository.py",
    "api/connections/client_repository.py",
    "api/connections/encryption.py",  # to seal and open tokens for the workspace
}
STORE_CALLERS = {
    "api/access/record_limits.py",  # reads how many records there are, and counts them if it is not known
    "api/access/repository.py",
    "api/agents/repository.py",
    "api/audit/repository.py",
    "api/servers/repository.py",
    "api/workspaces/repository.py",
    "api/toolbox/protocol_repository.py",
    "api/toolbox/tool_name_repository.py",
    "api/connections/repository.py",
    "api/connections/client_repository.py",
    "api/connections/consent/state.py",  # a browser brings no workspace: what is pending is found by a secret alone
    "api/connections/revocation/queue.py",  # what is to be revoked is of no workspace any more
    "api/audit/journal.py",  # the journal
    "api/main/container.py",  # reads whether the store is an unfinished copy
    "api/main/maintenance/doctor.py",  # reads whether the installation's own keys exist
    "api/access/idempotency/records.py",  # reads the record of a request; the journal writes it
    "api/access/idempotency/calls.py",  # replaces what it reserved through the journal
    "api/access/last_used.py",  # writes when a key was used, which is no configuration
    "api/api_keys/service.py",  # makes an operator key, which is of no workspace
    "api/system/routes.py",  # asks whether the store answers
}


def strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def names_a_partition(tree: ast.AST) -> bool:
    return any(OWN in text for text in strings(tree))


def builds_a_partition(tree: ast.AST) -> bool:
    return mentions(tree, "partition_of")


def reads_a_context(tree: ast.AST) -> bool:
    """`ctx.partition` is read, whatever the context is called; `text.partition(…)` is a call and another thing."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "partition"
        and id(node) not in called
        and "usage" not in ast.unparse(node.value)
        for node in ast.walk(tree)
    ) or any(text == "partition" for text in strings(tree))


def calls_a_store(tree: ast.AST) -> bool:
    """A method of a store is called, or handed on."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in OPERATIONS and _is_a_store(node.value)
        for node in ast.walk(tree)
    )


def _is_a_store(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower().endswith("store")
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.lower().endswith("store")
        case _:
            return False


def mentions(tree: ast.AST, wanted: str) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.FunctionDef(name=name):
                if name == wanted:
                    return True
            case _:
                pass
    return False


RULES = [
    pytest.param(names_a_partition, PARTITION_NAMERS, True, id="names a partition"),
    pytest.param(builds_a_partition, PARTITION_BUILDERS, False, id="makes a partition from an id"),
    pytest.param(reads_a_context, CONTEXT_READERS, False, id="takes a context apart"),
    pytest.param(calls_a_store, STORE_CALLERS, False, id="asks a store"),
]


def files(with_kit: bool) -> Iterator[Path]:
    """The kit knows no workspace: it takes the partition that it is given, so only the first rule is about it."""
    for folder in ("api", "integrations"):
        for file in (PROJECT / folder).rglob("*.py"):
            if with_kit or not file.is_relative_to(PROJECT / "api/kit"):
                yield file


@pytest.mark.requirement("AUT-07")
@pytest.mark.parametrize(("does", "allowed", "with_kit"), RULES)
def test_only_the_listed_files_open_a_workspace(does: object, allowed: set[str], with_kit: bool) -> None:
    assert callable(does)
    names = {str(file.relative_to(PROJECT)) for file in files(with_kit) if does(parsed(file.read_text()))}

    assert names - allowed == set(), "these files may not do that"
    assert allowed - names == set(), "these files do not need the permission they have"


@pytest.mark.requirement("AUT-07")
@pytest.mark.parametrize(
    ("does", "source"),
    [
        (names_a_partition, "key = Key(f'WS#{other}', 'META')"),
        (names_a_partition, "key = Key('WS#' + other, 'META')"),
        (builds_a_partition, "from api.access.context import partition_of as p"),
        (builds_a_partition, "store.get(Key(context.partition_of(other), sk))"),
        (reads_a_context, "self._p = request.state.context.partition"),
        (reads_a_context, "getattr(ctx, 'partition')"),
        (calls_a_store, "await self._store.get(key)"),
        (calls_a_store, "await self._shop.store.write(*changes)"),
        (calls_a_store, "work = partial(parts.store.query, partition)"),
        (calls_a_store, "await SqliteStore(path).get(key)"),
    ],
)
def test_every_form_of_opening_a_workspace_is_detected(does: object, source: str) -> None:
    assert callable(does)
    assert does(ast.parse(source))


@pytest.mark.parametrize(
    "source", ["head, _, tail = text.partition(' ')", "request.headers.get('a')", "self._memory.get(1)", "x = 'WSX'"]
)
def test_other_code_is_accepted(source: str) -> None:
    tree = ast.parse(source)
    assert not any((names_a_partition(tree), builds_a_partition(tree), reads_a_context(tree), calls_a_store(tree)))

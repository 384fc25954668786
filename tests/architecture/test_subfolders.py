"""Inside a folder of api: which sub-folder may import which, and no circles between sub-folders and loose modules."""

from __future__ import annotations

import pytest

from tests.architecture.modules import PROJECT, bullet_list, cycles
from tests.architecture.test_imports import edges

Edge = tuple[str, str]

# A sub-folder may import the loose modules of its folder, and these sub-folders beside it.
MAY_IMPORT: dict[str, set[str]] = {
    "api.kit.cache": set(),
    "api.kit.storage": {"api.kit.cache"},
    "api.kit.crypto": {"api.kit.storage", "api.kit.cache"},
    "api.kit.egress": set(),
    "api.kit.http_client": {"api.kit.egress"},
    "api.http.server": set(),
    "api.http.openapi": set(),
    "api.main.maintenance": set(),
    "api.access.idempotency": set(),
    "api.connections.revocation": set(),
    "api.connections.tokens": {"api.connections.revocation"},
    "api.connections.consent": {"api.connections.revocation"},
    "api.toolbox.output": set(),
    "api.toolbox.json_schema": {"api.toolbox.output"},
    "api.toolbox.credentials": {"api.toolbox.output"},
    "api.toolbox.toolsets": {"api.toolbox.credentials", "api.toolbox.json_schema", "api.toolbox.output"},
    "api.toolbox.listing": {"api.toolbox.toolsets", "api.toolbox.json_schema", "api.toolbox.output"},
    "api.toolbox.calling": set(),
    "api.toolbox.wrappers": {"api.toolbox.calling", "api.toolbox.toolsets", "api.toolbox.output"},
}


def part(name: str) -> str:
    """`api.kit.storage` for each module in it; `api.kit.clock` for that module itself."""
    return ".".join(name.split(".")[:3])


def folder(name: str) -> str:
    return ".".join(name.split(".")[:2])


def subfolders() -> set[str]:
    paths = (path for path in (PROJECT / "api").glob("*/*/") if list(path.glob("*.py")))
    return {".".join(path.relative_to(PROJECT).parts) for path in paths}


def parts_imported() -> set[Edge]:
    """Between the parts of one folder."""
    return {
        (part(importer), part(imported))
        for importer, others in edges().items()
        for imported in others
        if folder(importer) == folder(imported) and part(importer) != part(imported)
    }


def is_allowed(importer: str, imported: str) -> bool:
    if importer not in MAY_IMPORT or imported not in MAY_IMPORT:
        return True
    return imported in MAY_IMPORT[importer]


def test_sub_folders_import_only_what_the_table_allows() -> None:
    forbidden = {edge for edge in parts_imported() if not is_allowed(*edge)}

    assert not forbidden, bullet_list(f"{one} imports {other}" for one, other in forbidden)


def test_every_sub_folder_is_in_the_table() -> None:
    assert subfolders() == MAY_IMPORT.keys()


def test_sub_folders_and_loose_modules_do_not_import_each_other_in_a_circle() -> None:
    between: dict[str, set[str]] = {}
    for importer, imported in parts_imported():
        between.setdefault(importer, set()).add(imported)

    assert cycles(between) == []


def test_the_table_itself_has_no_circle() -> None:
    assert cycles(MAY_IMPORT) == []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("api.connections.revocation", "api.connections.tokens"),
        ("api.connections.tokens", "api.connections.consent"),
        ("api.kit.storage", "api.kit.crypto"),
        ("api.toolbox.listing", "api.toolbox.calling"),
    ],
)
def test_a_forbidden_import_is_detected(importer: str, imported: str) -> None:
    assert not is_allowed(importer, imported)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("api.connections.tokens", "api.connections.revocation"),
        ("api.connections.tokens", "api.connections.repository"),
        ("api.kit.crypto", "api.kit.storage"),
    ],
)
def test_an_allowed_import_is_accepted(importer: str, imported: str) -> None:
    assert is_allowed(importer, imported)

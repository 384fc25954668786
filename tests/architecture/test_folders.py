"""Folders stay small, the map names each of them, and no two modules have a class of the same name."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.architecture.modules import PROJECT, Module, bullet_list, modules

CODE = ("api", "integrations")
MAX_FILES = 16
"""Besides the `__init__.py`."""
SERVICES = frozenset(file.parent.name for file in (PROJECT / "integrations").glob("*/manifest.toml"))


def folders(*roots: str) -> dict[str, list[str]]:
    result: dict[str, list[str]] = defaultdict(list)
    for module_ in modules(*roots):
        folder, _, file = module_.path.rpartition("/")
        result[folder].append(file)
    return result


def test_no_folder_has_too_many_files() -> None:
    crowded = {
        f"{folder}: {len(files) - 1} files"
        for folder, files in folders(*CODE, "demo", "bench").items()
        if len(files) - 1 > MAX_FILES
    }

    assert not crowded, bullet_list(crowded)


def test_the_map_names_every_folder_of_code() -> None:
    text = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = {folder for folder in folders(*CODE) if is_mapped(folder) and f"`{folder}`" not in text}

    assert not missing, f"ARCHITECTURE.md does not say what is in {bullet_list(missing)}"


def is_mapped(folder: str) -> bool:
    """A service needs no line in the map: its folder is found by its manifest."""
    return folder != "api" and not any(folder.startswith(f"integrations/{service}") for service in SERVICES)


def public_classes(module: Module) -> list[str]:
    return [node.name for node in module.tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def shared_names(classes: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Class names that stand in several modules, and not only in folders of services, where they name the same role."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, names in classes.items():
        for name in names:
            places[name].append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1 and not are_siblings(paths)}


def are_siblings(paths: list[str]) -> bool:
    owners = [Path(path).parts[1] for path in paths if path.startswith("integrations/")]
    return len(set(owners)) == len(paths) and SERVICES.issuperset(owners)


def test_a_public_class_name_stands_for_one_class() -> None:
    shared = shared_names({module_.path: public_classes(module_) for module_ in modules(*CODE)})

    assert not shared, bullet_list(f"{name}: {', '.join(paths)}" for name, paths in shared.items())


@pytest.mark.parametrize(
    ("paths", "is_shared"),
    [
        (["api/a/b.py", "api/c/d.py"], True),
        (["api/a/b.py", "integrations/slack/client.py"], True),
        (["integrations/slack/client.py", "integrations/slack/results.py"], True),
        (["integrations/slack/client.py", "integrations/linear/client.py"], False),
        (["integrations/errors.py", "integrations/linear/errors.py"], True),
    ],
)
def test_a_shared_class_name_is_detected(paths: list[str], *, is_shared: bool) -> None:
    assert bool(shared_names({path: ["Name"] for path in paths})) is is_shared

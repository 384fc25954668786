"""Loading of the Python modules in a service's folder."""

from __future__ import annotations

from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent


def load_plugin_module(folder: Path, file_name: str) -> ModuleType | None:
    """Import a module on first use, by its file if the folder is outside of this package."""
    file = folder.resolve() / file_name
    if not file.is_file():
        return None
    if file.parent.parent == HERE:
        return import_module(f"{__name__.partition('.')[0]}.{folder.name}.{file.stem}")
    spec = spec_from_file_location(f"{folder.name}_{file.stem}", file)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

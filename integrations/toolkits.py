"""The tools of a service and their client, as listed in `tools.py` of the service's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from integrations.manifest import ManifestError, Service
from integrations.plugin_modules import load_plugin_module
from integrations.service_client import ServiceClient
from integrations.tool import ServiceTool

FILE = "tools.py"


@dataclass(frozen=True)
class Toolkit:
    tools: Mapping[str, ServiceTool]
    """By name, in the order of the file."""

    client: type[ServiceClient]


def load_toolkit(service: Service) -> Toolkit | None:
    """The toolkit of a service; None if its folder has no `tools.py`: it can be connected but not used."""
    return _load(service.folder) if service.folder else None


@cache
def _load(folder: Path) -> Toolkit | None:
    module = load_plugin_module(folder, FILE)
    if module is None:
        return None
    tools, api = getattr(module, "TOOLS", None), getattr(module, "API", None)
    if not tools or not (isinstance(api, type) and issubclass(api, ServiceClient)):
        raise ManifestError(
            f"{folder / FILE}: it must define TOOLS, the list of its tools, and API, their client class"
        )
    return Toolkit({tool.name: tool for tool in tools}, api)

"""The tools of a service, which the `tools.py` of its folder lists, with the API that they use."""

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
    """None where the folder has none: the service can be connected, and no more."""
    return _loaded(service.folder) if service.folder else None


@cache
def _loaded(folder: Path) -> Toolkit | None:
    module = load_plugin_module(folder, FILE)
    if module is None:
        return None
    tools, api = getattr(module, "TOOLS", None), getattr(module, "API", None)
    if not tools or not (isinstance(api, type) and issubclass(api, ServiceClient)):
        raise ManifestError(f"{folder / FILE}: it needs TOOLS, the list of its tools, and API, what they are given")
    return Toolkit({tool.name: tool for tool in tools}, api)

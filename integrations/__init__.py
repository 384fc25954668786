"""Which services are there: one folder each, found by its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from integrations.manifest import ConfigField, ManifestError, OAuth, Revocation, Service, Tool, load_services

__all__ = ["ConfigField", "ManifestError", "OAuth", "Revocation", "Service", "Tool", "services"]


@cache
def services() -> Mapping[str, Service]:
    """Every service by its name, in order of names. The manifests are read once, at the first call."""
    return load_services(Path(__file__).parent)

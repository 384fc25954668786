"""The software bill of materials in CycloneDX: from the lock file, and what the wheel itself has of others."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMESPACE = uuid.UUID("6f0a5f7e-8c5b-5d0e-9d7c-0f1b7a3f4c21")
"""Of serial numbers: the same content has the same one."""
_ENTRY = re.compile(
    r"^([\w.-]+)==([^\s;\\]+)(?: ; ([^\\\n]+?))? ?((?:\\\n +--hash=sha256:[0-9a-f]{64} ?)+)$", re.MULTILINE
)
_AFTER_NAME = re.compile(r"[^\w.-]")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LockedPackage:
    name: str
    version: str
    marker: str
    """Where it is needed; empty: everywhere."""

    hashes: tuple[str, ...]
    """Of every file that the lock allows."""

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def locked_packages(text: str) -> Iterator[LockedPackage]:
    for name, version, marker, hashes in _ENTRY.findall(text):
        yield LockedPackage(name, version, marker, tuple(re.findall(r"[0-9a-f]{64}", hashes)))


def bill_of_materials(project: Path, wheel: Path, *, epoch: int) -> Json:
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = list(locked_packages((project / "requirements.lock").read_text(encoding="utf-8")))
    building = {_name(item) for item in about["optional-dependencies"]["build"]}
    direct = {_name(item) for item in about["dependencies"]}
    application = _application(about, wheel)
    bill: Json = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lifecycles": [{"phase": "build"}],
            "component": application,
        },
        "components": [*(_component(package, building) for package in packages), _scalar(project)],
        "dependencies": [
            {
                "ref": application["bom-ref"],
                "dependsOn": [package.purl for package in packages if package.name in direct],
            }
        ],
    }
    return {**bill, "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, json.dumps(bill))}"}


def _application(about: Mapping[str, Any], wheel: Path) -> Json:
    purl = f"pkg:pypi/{about['name']}@{about['version']}"
    return {
        "bom-ref": purl,
        "type": "application",
        "name": about["name"],
        "version": about["version"],
        "description": about["description"],
        "purl": purl,
        "hashes": [_hash(hashlib.sha256(wheel.read_bytes()).hexdigest())],
    }


def _component(package: LockedPackage, building: set[str]) -> Json:
    """What is installed, and the files that it may be installed from: one of them, depending on the machine."""
    needed = "excluded" if package.name in building else "optional" if package.marker else "required"
    files = {
        "type": "distribution",
        "url": package.purl,
        "comment": "One of the files with these hashes.",
        "hashes": [_hash(digest) for digest in package.hashes],
    }
    component: Json = {
        "bom-ref": package.purl,
        "type": "library",
        "name": package.name,
        "version": package.version,
        "scope": needed,
        "purl": package.purl,
        "externalReferences": [files],
    }
    marker = {"properties": [{"name": "plugboard:marker", "value": package.marker}]}
    return component | (marker if package.marker else {})


def _scalar(project: Path) -> Json:
    """The script of `/docs`, which comes with the wheel."""
    source = (project / "api/http/openapi/reference_page.py").read_text(encoding="utf-8")
    constants = dict(re.findall(r'^SCALAR_(VERSION|SHA256) = "(\S+)"$', source, re.MULTILINE))
    purl = f"pkg:npm/%40scalar/api-reference@{constants['VERSION']}"
    return {
        "bom-ref": purl,
        "type": "library",
        "group": "@scalar",
        "name": "api-reference",
        "version": constants["VERSION"],
        "description": "Renders the API reference. The hash is that of its file dist/browser/standalone.js.",
        "scope": "required",
        "hashes": [_hash(constants["SHA256"])],
        "licenses": [{"license": {"id": "MIT"}}],
        "purl": purl,
    }


def _hash(digest: str) -> Json:
    return {"alg": "SHA-256", "content": digest}


def _name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", _AFTER_NAME.split(requirement)[0]).lower()

"""The files of a release in their directory."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from release.sbom import bill_of_materials
from release.wheel import build_wheel

LOCK = "requirements.lock"
SUMS = "SHA256SUMS"


def make_release(project: Path, out: Path, *, epoch: int) -> list[Path]:
    """Replaces what is in the directory. `epoch` is the time of everything that has one."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wheel = build_wheel(project, out, epoch=epoch)
    lock = out / LOCK
    lock.write_bytes((project / LOCK).read_bytes())
    bill = bill_of_materials(project, wheel, epoch=epoch)
    sbom = out / f"plugboard-{bill['metadata']['component']['version']}.cdx.json"
    sbom.write_text(json.dumps(bill, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    sums = out / SUMS
    sums.write_text("".join(f"{_sha256(file)}  {file.name}\n" for file in (sbom, wheel, lock)), encoding="utf-8")
    return [sbom, wheel, lock, sums]


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

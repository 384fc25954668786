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
from tests.toolkits.connected_service import CUT_NOTE, MAX_TEXT, ConnectedService
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
Setup = Callable[[Any], object]
"""To the service, connected as it is."""
FailureSetup = Callable[[Any, str], object]
"""That, where a tool is called next."""
Connect = Callable[..., AbstractContextManager[ConnectedService]]


def nothing(_: object) -> None:
    """Happens as a rule."""


def runs_counted(scene: str) -> str:
    """A person reads how long they are."""
    return re.sub(r"x{20,}", lambda value: f"[{len(value[0])} times x]", scene)


def outlined(scene: str) -> str:
    """The beginning of each line, and no more than a few of what goes on and on."""
    requested, _, text = scene.partition("\n\n")
    lines = [line if len(line) < 200 else f"{line[:120]} [… {len(line)} characters]" for line in text.splitlines()]
    if len(lines) > 60:
        lines = [*lines[:30], f"[… {len(lines) - 60} lines …]", *lines[-30:]]
    return f"{requested}\n\n" + "\n".join(lines) + "\n"


def numbered(title: str, *ways: Json) -> dict[str, Json]:
    """Numbered."""
    return {f"{title}, {number}": args for number, args in enumerate(ways, 1)}


@dataclass(frozen=True)
class SceneCall:
    args: Json
    setup: Setup = nothing
    transform: Callable[[str], str] = str
    follow_pages: bool = False
    """It is a page, and so is what is behind it."""
    tool: str = ""
    """Another one, to see what this one did."""


@dataclass(frozen=True)
class Case:
    """What is asked of a tool, in this order, by title; first as it is meant."""

    tool: str
    calls: Mapping[str, Json | SceneCall]
    next_arguments: Callable[[str], Json] | None = None
    """How to ask for that, given its cursor, where that is no parameter of its own."""
    failing_arguments: Json | None = None
    """How to ask where it fails, if not as it is meant."""
    writes: bool = False
    strict: bool = True
    """The contract knows all that is sent."""

    def __str__(self) -> str:
        return self.tool

    @property
    def valid_arguments(self) -> Json:
        first = self.calls[Scene.MEANT]
        return self.failing_arguments or (first.args if isinstance(first, SceneCall) else first)


@dataclass(frozen=True)
class ApprovedTexts:
    """Of a service's tools."""

    kind: type[ConnectedService]
    cases: tuple[Case, ...]
    failures: Mapping[str, FailureSetup]
    """In the way of an answer, besides what is the same for all services."""
    revoked_title: str
    """The title of the scene with a revoked credential."""
    lost_responses: Mapping[str, FailureSetup] = field(default_factory=dict)
    """What may become of the answer to a write that was carried out."""

    def __str__(self) -> str:
        return self.kind.service


def play_calls(service: ConnectedService, case: Case) -> dict[str, str]:
    scenes = dict[str, str]()
    for title, item in case.calls.items():
        call = item if isinstance(item, SceneCall) else SceneCall(item)
        call.setup(service)
        if call.follow_pages:
            scenes |= _pages(service, case, call)
        else:
            scenes[title] = call.transform(_play(service, call.tool or case.tool, call.args))
        service.tenant.clear_faults()
    return scenes


def _play(service: ConnectedService, tool: str, args: Json) -> str:
    result = service.tools.call(tool, **args)
    assert len(result["text"]) < MAX_TEXT
    assert CUT_NOTE not in result["text"], "nothing is to be cut by others"
    return service.scene(args, result)


def _pages(service: ConnectedService, case: Case, first: SceneCall) -> dict[str, str]:
    """The first two as they are read, and the last, if that is another one."""
    scenes, args = dict[str, str](), first.args
    for title in chain((Scene.PAGE, Scene.NEXT), repeat(Scene.LAST)):
        result = service.tools.call(case.tool, **args)
        scenes[title] = first.transform(service.scene(args, result))
        cursor = result["structuredContent"].get("nextCursor")
        if cursor is None:
            break
        args = {
            **first.args,
            **(case.next_arguments(cursor) if case.next_arguments else {service.cursor_parameter: cursor}),
        }
    return scenes


def play_failures(texts: ApprovedTexts, connecting: Connect) -> Iterator[tuple[Case, dict[str, str]]]:
    """Of each tool, whatever is in the way of an answer."""
    with connecting(connect=False) as service:
        unconnected = {case.tool: service.play(case.tool, **case.valid_arguments) for case in texts.cases}
        assert service.tenant.requests_to("api") == []
    with connecting(timeoutSeconds=1) as service:
        slow = _slow(service, texts.cases)
    with connecting(timeoutSeconds=2) as service:
        for case in texts.cases:
            text = _play_errors(service, texts, case)
            text |= {Scene.SLOW: slow[case.tool], Scene.UNCONNECTED: unconnected[case.tool]}
            if case.writes:
                _close_breaker(service, texts)
                text |= _play_lost_responses(service, texts, case)
                _close_breaker(service, texts)
            yield case, text | {f"{Scene.UNCONNECTED}: {texts.revoked_title}": _play_revoked(service, case)}


def _play_errors(service: ConnectedService, texts: ApprovedTexts, case: Case) -> dict[str, str]:
    scenes, before = dict[str, str](), service.writes_done()
    for title, trouble in texts.failures.items():
        trouble(service, case.tool)
        scenes[title] = service.play(case.tool, **case.valid_arguments)
        service.restore()
    for title, fault in FAULTS.items():
        service.tenant.inject_fault("api", fault, times=None)
        scenes[title] = service.play(case.tool, **case.valid_arguments)
        service.restore()
    assert service.writes_done() == before
    return scenes


def _close_breaker(service: ConnectedService, texts: ApprovedTexts) -> None:
    """So that the failures before are not held against the server."""
    service.tools.result(texts.cases[0].tool, **texts.cases[0].valid_arguments)


def _slow(service: ConnectedService, cases: tuple[Case, ...]) -> dict[str, str]:
    """Calls while the vendor holds its responses."""
    service.tenant.inject_fault("api", Fault("hold"), times=None)
    called = service.tools.call_concurrently({case.tool: case.valid_arguments for case in cases})
    service.restore()
    assert service.writes_done() == 0
    return {case.tool: service.scene(case.valid_arguments, called[case.tool]) for case in cases}


def _play_lost_responses(service: ConnectedService, texts: ApprovedTexts, case: Case) -> dict[str, str]:
    """It was carried out, and is sent once."""
    scenes = dict[str, str]()
    for title, trouble in texts.lost_responses.items():
        before = service.writes_done()
        trouble(service, case.tool)
        scenes[title] = service.play(case.tool, **case.valid_arguments)
        service.restore()
        assert service.writes_done() == before + 1, title
    return scenes


def _play_revoked(service: ConnectedService, case: Case) -> str:
    service.revoke()
    text = service.play(case.tool, **case.valid_arguments)
    service.restore()
    service.reconnect()
    return text

"""Is there a tool, of any service, for which a person has not read what a model reads in each case?"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from integrations import ServiceTool, load_toolkit, services
from tests.toolkits.connected_service import SNAPSHOTS, approved_scenes
from tests.toolkits.scenes import Scene
from tests.toolkits.test_approved_texts import ALL

FILES = ("", ".failures")


def always(_: ServiceTool) -> bool:
    return True


def writes(tool: ServiceTool) -> bool:
    """What only reads is asked again when its answer is lost."""
    return tool.writes


def pages(tool: ServiceTool) -> bool:
    """Who promises no cursor has all on one page."""
    return "nextCursor" in tool.mcp_definition["outputSchema"]["properties"]


@dataclass(frozen=True)
class Requirement:
    kind: str | None = None
    """Of failure, "" for none; None for whatever comes of it."""
    of: Callable[[ServiceTool], bool] = always


REQUIREMENTS: Mapping[Scene, Requirement] = {
    Scene.MEANT: Requirement(""),
    Scene.PAGE: Requirement("", pages),
    Scene.NEXT: Requirement("", pages),
    Scene.EMPTY: Requirement(),
    Scene.WRONG: Requirement("invalid_arguments"),
    Scene.RIGHTS: Requirement("upstream_refused"),
    Scene.UNCONNECTED: Requirement("not_connected"),
    Scene.BUSY: Requirement("rate_limited"),
    Scene.DOWN: Requirement("upstream_unavailable"),
    Scene.SLOW: Requirement("timeout"),
    Scene.HUGE: Requirement(""),
    Scene.LOST: Requirement("upstream_unavailable", writes),
}
EXEMPT: Mapping[tuple[str, Scene], str] = {}
"""By tool and case, the reason why there can be none."""
UNHARMED: Mapping[tuple[str, Scene], str] = {
    ("posthog_list_projects", Scene.RIGHTS): "it tells the current project, which any key may see, and what it lacks",
}
"""By tool and case, the reason why that is no failure; it is to be read all the same."""


@dataclass(frozen=True)
class ApprovedTool:
    service: str
    tool: ServiceTool

    def kinds(self, case: Scene) -> list[str]:
        """With something after a colon or a comma, it is that case in particular."""
        results = [scene for file in FILES for scene in approved_scenes(self.service, f"{self.tool.name}{file}")]
        return [kind for title, kind in results if re.split("[:,]", title)[0] == case]

    def lacking(self) -> list[Scene]:
        name = self.tool.name
        needed = [case for case, demand in REQUIREMENTS.items() if demand.of(self.tool) and (name, case) not in EXEMPT]
        return [case for case in needed if not self._has(case)]

    def _has(self, case: Scene) -> bool:
        kinds = self.kinds(case)
        kind = "" if (self.tool.name, case) in UNHARMED else REQUIREMENTS[case].kind
        return bool(kinds) if kind is None else kind in kinds


def tools() -> list[ApprovedTool]:
    """Those of the manifests."""
    results = []
    for name, service in services().items():
        kit = load_toolkit(service) if service.tools else None
        results += [ApprovedTool(name, kit.tools[tool.name]) for tool in service.tools] if kit else []
    return results


EACH = [pytest.param(shown, id=shown.tool.name) for shown in tools()]


@pytest.mark.parametrize("shown", EACH)
def test_every_case_has_an_approved_text(shown: ApprovedTool) -> None:
    assert shown.lacking() == [], f"{shown.tool.name} has no scene for these cases, in snapshots/{shown.service}"


def test_every_approved_scene_is_played() -> None:
    played = {f"{texts}/{case}{file}.txt" for texts in ALL for case in texts.cases for file in FILES}

    assert {str(path.relative_to(SNAPSHOTS)) for path in SNAPSHOTS.rglob("*.txt")} == played


def test_every_exemption_names_an_existing_tool_and_is_needed() -> None:
    known = {shown.tool.name: shown for shown in tools()}

    for tool, case in {**EXEMPT, **UNHARMED}:
        assert REQUIREMENTS[case].of(known[tool].tool)
        assert REQUIREMENTS[case].kind not in known[tool].kinds(case)


@pytest.mark.parametrize("shown", EACH[:1])
def test_a_tool_without_approved_texts_lacks_every_case(shown: ApprovedTool) -> None:
    unread = ApprovedTool("no-such-service", shown.tool)

    assert unread.lacking() == [case for case, demand in REQUIREMENTS.items() if demand.of(shown.tool)]


def test_a_scene_of_another_case_does_not_count() -> None:
    shown = tools()[0]

    assert "rate_limited" in shown.kinds(Scene.BUSY)
    assert "rate_limited" not in shown.kinds(Scene.DOWN)

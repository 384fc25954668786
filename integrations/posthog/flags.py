"""The tools for feature flags: what is switched on, and for whom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from integrations.posthog.api import PosthogApi, Project
from integrations.posthog.asking import PAGED, Full, InProject, Searched, from_link, is_number
from integrations.posthog.objects import Details, listed, none_such, one, read, whole
from integrations.posthog.results import Item, Line, Page, Part, Prose, Who, line
from integrations.tool import Json, tool

PLACE = "feature_flags"
MOST_CONDITIONS = 30
WHAT, LIST = "feature flag", "posthog_list_feature_flags"
Truth = Annotated[
    Literal["true", "false"] | None,
    BeforeValidator(lambda given: str(given).lower() if isinstance(given, bool) else given),
]


class ListFlags(Searched):
    also: ClassVar[Mapping[str, str]] = {**PAGED, "enabled": "active", "status": "active", "flagtype": "type"}
    search: str | None = Field(default=None, max_length=200, description="Only those whose key or name has this.")
    active: Annotated[
        Literal["true", "false", "STALE"] | None,
        BeforeValidator(lambda given: "STALE" if str(given).upper() == "STALE" else str(given).lower()),
    ] = Field(default=None, description="Switched on or off; `STALE`: on, and of no use any more.")
    type: Literal["boolean", "multivariant", "experiment", "remote_config"] | None = None
    tags: list[str] | None = Field(default=None, max_length=20, description="Only those with one of these tags.")
    archived: Truth = Field(default=None, description="Only archived ones; else they are left out.")


class GetFlag(InProject):
    also: ClassVar[Mapping[str, str]] = {
        **InProject.also,
        **dict.fromkeys(("id", "flagid", "flag", "key", "flagkey", "url", "featureflag"), "feature_flag_id"),
    }
    feature_flag_id: Annotated[str, from_link(PLACE)] = Field(
        min_length=1,
        max_length=400,
        description="Its number, its key, or a link to it.",
        examples=["7", "new-checkout"],
    )
    full: Full = False


class Variant(Part):
    key: str
    name: Line = None
    rollout_percentage: float | None = None
    payload: Line = None


class Flag(Item):
    apart: ClassVar[tuple[str, ...]] = ()
    headed: ClassVar[tuple[str, ...]] = ("id", "key", "name")
    key: str
    name: Line = Field(default=None, description="What it is for.")
    active: bool | None = None
    rollout: Line = Field(default=None, description="For whom it is on, in short.")
    variants: list[str] = Field(default=[])
    tags: list[str] = Field(default=[])
    status: str | None = None
    archived: bool | None = None
    created_at: str | None = None
    updated_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"{self.key} (id {self.id})" + (f": {self.name}" if self.name else "")


class FlagPage(Page[Flag]):
    what: ClassVar[tuple[str, str]] = ("feature flag", "feature flags")
    hint: ClassVar[str] = "`search` looks in keys and names; archived flags only with `archived: true`."


class WholeFlag(Item):
    headed: ClassVar[tuple[str, ...]] = ("id", "key")
    apart: ClassVar[tuple[str, ...]] = ("name", "conditions", "variants")
    key: str
    name: Prose = Field(default=None, description="What it is for.")
    active: bool | None = None
    conditions: list[str] = Field(default=[], description="It is on where one of these holds; each has a share.")
    variants: list[Variant] = Field(default=[])
    payload: Line = Field(default=None, description="What is sent along where it is on.")
    tags: list[str] = Field(default=[])
    experiments: list[str] = Field(default=[], description="Their ids, for posthog_get_experiment.")
    surveys: list[str] = Field(default=[])
    ensure_experience_continuity: bool | None = None
    evaluation_runtime: str | None = None
    version: int | None = None
    created_at: str | None = None
    updated_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"{self.key} (id {self.id})"


class FlagDetails(Details):
    feature_flag: WholeFlag

    def item(self) -> Item:
        return self.feature_flag


@tool("List feature flags")
async def posthog_list_feature_flags(api: PosthogApi, ask: ListFlags) -> FlagPage:
    """List the feature flags of a PostHog project: by words in key or name, on or off, type or tags.

    Use it to find a flag or for an overview. Comes back: id, key, what it is for, whether it is active, for whom (in
    short), variants, tags, when it was changed, link. For all conditions and payloads read one with
    posthog_get_feature_flag. Active does not mean on for everybody: see `rollout`.
    """
    query = {
        "search": ask.search,
        "active": ask.active,
        "type": ask.type,
        "archived": ask.archived,
        "tags": json.dumps(ask.tags) if ask.tags else None,
    }
    return await listed(api, ask, PLACE, query, FlagPage, lambda project, found: _flag(project, found, ask.full))


@tool("Read a feature flag")
async def posthog_get_feature_flag(api: PosthogApi, ask: GetFlag) -> FlagDetails:
    """Read one feature flag by its number, its key (as in code) or its link.

    Comes back: every release condition with its share of users, the variants with theirs, payloads, the experiments
    and surveys that hang on it, who made it and when it was changed, link. `full: true` gives PostHog's own object.
    Whether it is still evaluated: posthog_get with path `/api/projects/{projectId}/feature_flags/{id}/status/`.
    """
    project = await api.project(ask.project_id)
    number = ask.feature_flag_id if is_number(ask.feature_flag_id) else await _number(api, project, ask)
    found = await one(api, project, PLACE, number, WHAT, LIST)
    return FlagDetails(project_id=project.id, feature_flag=_whole_flag(project, found, full=ask.full))


async def _number(api: PosthogApi, project: Project, ask: GetFlag) -> str:
    """Of the flag with this key."""
    key = ask.feature_flag_id
    found = await api.page(project.path(PLACE), {"key": key}, 2, 0)
    same = [each for each in found.items if str(each.get("key")).lower() == key.lower()]
    if not same:
        raise none_such(project, WHAT, f"with the key {key}", LIST)
    return str(same[0].get("id"))


def _flag(project: Project, found: Json, full: bool) -> Flag:
    variants = [str(each.get("key")) for each in _variants(found)]
    return read(
        Flag,
        found,
        url=project.link(f"{PLACE}/{found.get('id')}"),
        rollout=_in_short(_groups(found)),
        variants=variants,
        full=whole(found, full=full),
    )


def _whole_flag(project: Project, found: Json, *, full: bool) -> WholeFlag:
    payloads = _filters(found).get("payloads") or {}
    variants = [{**each, "payload": _payload(payloads.get(each.get("key")))} for each in _variants(found)]
    return read(
        WholeFlag,
        found,
        url=project.link(f"{PLACE}/{found.get('id')}"),
        conditions=[condition(each) for each in _groups(found)[:MOST_CONDITIONS]],
        variants=variants,
        payload=_payload(payloads.get("true")),
        experiments=[str(each) for each in found.get("experiment_set") or []],
        surveys=[str(each.get("name")) for each in found.get("surveys") or [] if isinstance(each, dict)],
        full=whole(found, full=full, alone=True),
    )


def _payload(value: object) -> str | None:
    """Mostly it is JSON in a text."""
    return value if isinstance(value, str | None) else json.dumps(value)


def condition(group: Json) -> str:
    """One of a flag's groups."""
    share = group.get("rollout_percentage")
    filters = [_filter(each) for each in group.get("properties") or [] if isinstance(each, dict)]
    variant = f", always variant {group['variant']}" if group.get("variant") else ""
    return f"{100 if share is None else share}% of {' and '.join(filters) or 'everybody'}{variant}"


def _filter(found: Json) -> str:
    name = f"cohort {found.get('cohort_name') or found.get('value')}" if found.get("type") == "cohort" else ""
    value = found.get("value")
    told = " or ".join(map(str, value)) if isinstance(value, list) else str(value)
    operator = str(found.get("operator") or "exact").replace("_", " ")
    return str(line(name or f"{found.get('key')} {operator} {told}"))


def _in_short(groups: list[Json]) -> str | None:
    if len(groups) > 1:
        return f"{condition(groups[0])}, and {len(groups) - 1} more"
    return condition(groups[0]) if groups else None


def _filters(found: Json) -> Json:
    filters = found.get("filters")
    return filters if isinstance(filters, dict) else {}


def _groups(found: Json) -> list[Json]:
    return [each for each in _filters(found).get("groups") or [] if isinstance(each, dict)]


def _variants(found: Json) -> list[Json]:
    told = (_filters(found).get("multivariate") or {}).get("variants") or []
    return [each for each in told if isinstance(each, dict)]

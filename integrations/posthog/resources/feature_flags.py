"""The tools for feature flags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.flag_conditions import conditions, filters_of
from integrations.posthog.lookup import load_names
from integrations.posthog.objects import (
    Details,
    ObjectNotFound,
    cut_notes,
    first_match,
    full_object,
    list_objects,
    object_not_found,
    read,
    read_object,
)
from integrations.posthog.params import (
    PAGING_ALIASES,
    Full,
    InProject,
    NameList,
    Searched,
    Words,
    choice,
    from_link,
    is_number,
)
from integrations.posthog.results import Count, Line, Number, Page, Part, PostHogObject, Prose, Unusual, Who, line
from integrations.service_client import ToolFailed
from integrations.tool import tool

PLACE = "feature_flags"
MOST_CONDITIONS = 30
WHAT, LIST = "feature flag", "posthog_list_feature_flags"
MORE_CONDITIONS = "Only the first {} of {} conditions are listed; `full: true` returns the others."


class ListFlags(Searched):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGING_ALIASES,
        "enabled": "active",
        "status": "active",
        "flagtype": "type",
    }
    search: Words | None = Field(
        default=None, max_length=200, description="Only those whose key or name contains this."
    )
    active: Annotated[
        Literal["true", "false", "STALE"] | None,
        choice("true", "false", "STALE", on="true", enabled="true", active="true", off="false", disabled="false"),
    ] = Field(default=None, description="Switched on or off; `STALE`: on, but no longer used.")
    type: Annotated[
        Literal["boolean", "multivariant", "experiment", "remote_config"] | None,
        choice("boolean", "multivariant", "experiment", "remote_config", multivariate="multivariant"),
    ] = Field(default=None, description="`boolean`: on or off; `multivariant`: with variants.")
    tags: NameList | None = Field(default=None, max_length=20, description="Only those with one of these tags.")
    archived: Annotated[Literal["true", "false"] | None, choice("true", "false")] = Field(
        default=None, description="True: only archived flags, which are otherwise left out."
    )


class GetFlag(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **dict.fromkeys(("id", "flagid", "flag", "key", "flagkey", "url", "featureflag"), "feature_flag_id"),
    }
    feature_flag_id: Annotated[Words, from_link(PLACE)] = Field(
        min_length=1,
        max_length=400,
        description="Its number, its key, or a link to it.",
        examples=["7", "new-checkout"],
    )
    full: Full = False


class Variant(Part):
    key: str
    name: Line = None
    rollout_percentage: Number = None
    payload: Line = None


class Flag(PostHogObject):
    separate_fields: ClassVar[tuple[str, ...]] = ()
    heading_fields: ClassVar[tuple[str, ...]] = ("id", "key", "name")
    key: Annotated[str, BeforeValidator(line)]
    name: Line = Field(default=None, description="The purpose of the flag.")
    active: bool | None = None
    rollout: Line = Field(default=None, description="A summary of who gets it.")
    variants: list[str] = Field(default=[])
    tags: list[str] = Field(default=[])
    stale: Unusual = Field(default=None, description="True if the flag is on but no longer used.")
    archived: Unusual = None
    created_at: str | None = None
    updated_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"{self.key} (id {self.id})" + (f": {self.name}" if self.name else "")


class FlagPage(Page[Flag]):
    what: ClassVar[tuple[str, str]] = ("feature flag", "feature flags")
    hint: ClassVar[str] = "`search` covers keys and names."
    other_hint: ClassVar[str] = "`archived: true` lists archived flags."
    other_parameter: ClassVar[str] = "archived"
    reader: ClassVar[str] = "posthog_get_feature_flag"
    name_field: ClassVar[str] = "key"


class WholeFlag(PostHogObject):
    heading_fields: ClassVar[tuple[str, ...]] = ("id", "key")
    separate_fields: ClassVar[tuple[str, ...]] = ("name", "conditions", "variants")
    key: Annotated[str, BeforeValidator(line)]
    name: Prose = Field(default=None, description="The purpose of the flag.")
    active: bool | None = None
    stale: Unusual = Field(default=None, description="True if the flag is on but no longer used.")
    archived: Unusual = None
    conditions: list[str] = Field(
        default=[], description="The flag is on if one of these conditions holds; each has a share of users."
    )
    variants: list[Variant] = Field(default=[])
    payload: Line = Field(default=None, description="The payload that is sent if the flag is on.")
    tags: list[str] = Field(default=[])
    experiments: list[str] = Field(default=[], description="Their ids, for `posthog_get_experiment`.")
    surveys: list[str] = Field(default=[])
    ensure_experience_continuity: bool | None = None
    evaluation_runtime: str | None = None
    version: Count = None
    created_at: str | None = None
    updated_at: str | None = None
    created_by: Who = None

    def heading(self) -> str:
        return f"{self.key} (id {self.id})"


class FlagDetails(Details):
    feature_flag: WholeFlag

    def item(self) -> PostHogObject:
        return self.feature_flag


@tool("List feature flags")
async def posthog_list_feature_flags(api: PosthogApi, params: ListFlags) -> FlagPage:
    """List the feature flags of a PostHog project: by words in key or name, on or off, type or tags.

    Use it to find a flag or for an overview. Returns id, key, purpose, whether it is active, a summary of who gets it,
    variants, tags, when it was changed, and link. `posthog_get_feature_flag` reads all conditions and payloads.
    Active does not mean on for all users: see `rollout`.
    """
    query = {
        "search": params.search,
        "active": params.active,
        "type": params.type,
        "archived": params.archived,
        "tags": json.dumps(params.tags) if params.tags else None,
    }
    return await list_objects(
        api, params, PLACE, query, FlagPage, lambda project, item: _flag(project, item, params.full)
    )


@tool("Read a feature flag")
async def posthog_get_feature_flag(api: PosthogApi, params: GetFlag) -> FlagDetails:
    """Read one feature flag by its number, its key (as in code) or its link.

    Returns every release condition with its share of users, variants with their shares, payloads, the experiments and
    surveys that use it, who created it, when it was changed, and link. `full: true` returns PostHog's complete object.
    To see whether it is still evaluated, use `posthog_get` with path
    `/api/projects/{projectId}/feature_flags/{id}/status/`.
    """
    project = await api.project(params.project_id)
    flag_id = await find_flag_id(api, project, params.feature_flag_id)
    item = await read_object(api, project, PLACE, flag_id, WHAT, LIST)
    flag, condition_count = _whole_flag(project, item, full=params.full), len(list(conditions(item)))
    notes = (
        [MORE_CONDITIONS.format(MOST_CONDITIONS, condition_count)]
        if condition_count > MOST_CONDITIONS and not params.full
        else []
    )
    return FlagDetails(project_id=project.id, feature_flag=flag, notes=[*notes, *cut_notes(flag)])


async def find_flag_id(api: PosthogApi, project: Project, key: str) -> str:
    """The number of the flag with this key, archived or not; numbers are returned unchanged."""
    if is_number(key):
        return key
    item = await first_match(api, project, PLACE, {"key": key})
    if item is None or str(item.get("key")).lower() != key.lower():
        raise ObjectNotFound("upstream_refused", await _no_flag_text(api, project, key))
    return str(item.get("id"))


async def _no_flag_text(api: PosthogApi, project: Project, key: str) -> str:
    text = object_not_found(project, WHAT, f"with the key {key}", LIST).text
    try:
        suggestion = (await load_names(api, project, PLACE, {}, "key")).suggestion(key)
    except ToolFailed:  # the error is complete without similar names
        return text
    return f"{text} {suggestion}".rstrip()


def _flag(project: Project, item: Json, full: bool) -> Flag:
    variants = [str(variant.get("key")) for variant in _variants(item)]
    return read(
        Flag,
        item,
        url=project.link(f"{PLACE}/{item.get('id')}"),
        rollout=_rollout_summary(list(conditions(item))),
        variants=variants,
        stale=_is_stale(item),
        full=full_object(item, full=full),
    )


def _whole_flag(project: Project, item: Json, *, full: bool) -> WholeFlag:
    payloads = filters_of(item).get("payloads") or {}
    variants = [{**variant, "payload": _payload(payloads.get(variant.get("key")))} for variant in _variants(item)]
    return read(
        WholeFlag,
        item,
        url=project.link(f"{PLACE}/{item.get('id')}"),
        conditions=list(conditions(item))[:MOST_CONDITIONS],
        variants=variants,
        payload=_payload(payloads.get("true")),
        stale=_is_stale(item),
        experiments=[str(experiment_id) for experiment_id in item.get("experiment_set") or []],
        surveys=[str(survey.get("name")) for survey in item.get("surveys") or [] if isinstance(survey, dict)],
        full=full_object(item, full=full, is_alone=True),
    )


def _is_stale(item: Json) -> bool:
    return bool(item.get("status") == "STALE")


def _payload(value: object) -> str | None:
    """A payload as text; it is usually a JSON string."""
    return value if isinstance(value, str | None) else json.dumps(value)


def _rollout_summary(conditions: list[str]) -> str | None:
    more = len(conditions) - 1
    rest = f"; {more} more condition{'s' if more > 1 else ''}" if more > 0 else ""
    return f"{conditions[0]}{rest}" if conditions else None


def _variants(item: Json) -> list[Json]:
    variants = (filters_of(item).get("multivariate") or {}).get("variants") or []
    return [variant for variant in variants if isinstance(variant, dict)]

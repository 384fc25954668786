"""The tools for experiments and their results."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
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
from integrations.posthog.params import PAGING_ALIASES, Full, InProject, Searched, Words, choice, from_link, is_number
from integrations.posthog.resources.feature_flags import find_flag_id
from integrations.posthog.resources.hogql_query import run
from integrations.posthog.results import Line, Number, Page, Part, PostHogObject, Prose, Unusual, Who, finite
from integrations.posthog.tables import Table, table
from integrations.service_client import ToolFailed
from integrations.tool import tool

PLACE, FLAGS, LIST, MOST_METRICS = "experiments", "feature_flags", "posthog_list_experiments", 5
MORE_METRICS = "Only the first {} of {} main metrics are computed."
NOT_STARTED, WITHOUT_SCOPE = (
    "The experiment has not started: there is nothing to measure.",
    "Without this scope, leave out `results`.",
)
Status = Literal["draft", "running", "paused", "exposure_frozen", "stopped", "complete", "all"]
STATUSES = choice(
    *get_args(Status),
    **dict.fromkeys(("completed", "finished", "ended", "done"), "complete"),
    **dict.fromkeys(("active", "live", "launched"), "running"),
)
COLUMNS = ("variant", "persons", "sum", "chance to win", "p-value", "interval of the change", "significant")


class ListExperiments(Searched):
    aliases: ClassVar[Mapping[str, str]] = {
        **PAGING_ALIASES,
        **dict.fromkeys(("flagid", "flag", "flagkey", "featureflag", "featureflagkey"), "feature_flag_id"),
        "state": "status",
    }
    search: Words | None = Field(default=None, max_length=200, description="Only those whose name contains this.")
    status: Annotated[Status | None, STATUSES] = Field(
        default=None, description="`stopped` and `complete` mean the same."
    )
    archived: bool | None = Field(
        default=None, description="True: only archived experiments, which are otherwise left out."
    )
    feature_flag_id: Annotated[Words, from_link(FLAGS)] | None = Field(
        default=None, max_length=400, description="Only experiments with this feature flag: its number or its key."
    )


class GetExperiment(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **dict.fromkeys(("id", "experiment", "url", "key", "flag", "flagkey", "featureflagkey"), "experiment_id"),
        **dict.fromkeys(("result", "withresults"), "results"),
    }
    experiment_id: Annotated[Words, from_link(PLACE)] = Field(
        min_length=1,
        max_length=400,
        description="Its number, a link to it, or the key of its feature flag.",
        examples=["61", "checkout-copy"],
    )
    results: bool = Field(default=False, description="Also compute the first five main metrics; slow.")
    full: Full = False


class Experiment(PostHogObject):
    name: Line = None
    description: Prose = None
    status: str | None = None
    type: str | None = None
    feature_flag_key: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    conclusion: str | None = None
    archived: Unusual = None
    created_by: Who = None


class ExperimentPage(Page[Experiment]):
    what: ClassVar[tuple[str, str]] = ("experiment", "experiments")
    hint: ClassVar[str] = "`search` covers names."
    other_hint: ClassVar[str] = "`archived: true` lists archived experiments."
    other_parameter: ClassVar[str] = "archived"
    reader: ClassVar[str] = "posthog_get_experiment"


class Arm(Part):
    """A variant with its share."""

    key: str
    rollout_percentage: Number = None


class Measured(Part):
    name: Line = None
    kind: str | None = None
    result: Table | None = Field(default=None, description="One row per variant; the first is the baseline.")
    failed: str | None = None

    def text(self) -> str:
        kind = f" ({self.kind})" if self.kind else ""
        return f"{self.name}{kind}:\n{self.result.text() if self.result else self.failed}"


class WholeExperiment(Experiment):
    separate_fields: ClassVar[tuple[str, ...]] = ("description", "conclusion_comment", "variants")
    conclusion_comment: Prose = None
    feature_flag_id: str | None = None
    variants: list[Arm] = Field(default=[])
    metrics: list[str] = Field(default=[], description="The main metrics.")
    secondary_metrics: list[str] = Field(default=[])


class ExperimentDetails(Details):
    experiment: WholeExperiment
    measured: list[Measured] = Field(default=[])

    def item(self) -> PostHogObject:
        return self.experiment

    def text(self) -> str:
        return "\n\n".join([super().text(), *(metric.text() for metric in self.measured)])


@tool("List experiments")
async def posthog_list_experiments(api: PosthogApi, params: ListExperiments) -> ExperimentPage:
    """List the experiments (A/B tests) of a PostHog project, by words in the name, status or feature flag.

    Returns id, name, hypothesis, status, the key of its feature flag, start and end, conclusion and link.
    `posthog_get_experiment` reads variants, metrics and results.
    """
    flag = params.feature_flag_id
    number = await find_flag_id(api, await api.project(params.project_id), flag) if flag else None
    query = {"search": params.search, "status": params.status, "archived": params.archived, "feature_flag_id": number}

    def parse(project: Project, item: Json) -> Experiment:
        return read(Experiment, item, url=_link(project, item), full=full_object(item, full=params.full))

    return await list_objects(api, params, PLACE, query, ExperimentPage, parse)


@tool("Read an experiment")
async def posthog_get_experiment(api: PosthogApi, params: GetExperiment) -> ExperimentDetails:
    """Read one experiment by its number, link or flag's key; with `results: true`, also results of its main metrics.

    Returns hypothesis, status, dates, conclusion, feature flag, variants with their shares, and names of the metrics.
    Results: for each main metric (at most five) one row per variant: number of persons, chance to win or p-value,
    interval of the change, and significance. They need the scope `query:read`, and some seconds each.
    """
    project = await api.project(params.project_id)
    experiment_id = await _number(api, project, params.experiment_id)
    item = await read_object(api, project, PLACE, experiment_id, "experiment", LIST)
    metrics = _metrics(item, "metrics", "primary")
    experiment = read(
        WholeExperiment,
        item,
        url=_link(project, item),
        feature_flag_id=(item.get("feature_flag") or {}).get("id"),
        variants=_variants(item),
        metrics=[_name(metric) for metric in metrics],
        secondary_metrics=[_name(metric) for metric in _metrics(item, "metrics_secondary", "secondary")],
        full=full_object(item, full=params.full, is_alone=True),
    )
    metric_results = [await _measure(api, project, item, metric) for metric in metrics[:MOST_METRICS] if params.results]
    notes = [*_notes(item, len(metrics)), *cut_notes(experiment)] if params.results else cut_notes(experiment)
    return ExperimentDetails(project_id=project.id, experiment=experiment, measured=metric_results, notes=notes)


async def _number(api: PosthogApi, project: Project, key: str) -> str:
    """The number of the latest experiment with this flag key."""
    if is_number(key):
        return key
    with suppress(ObjectNotFound):
        flag = await find_flag_id(api, project, key)
        if item := await first_match(api, project, PLACE, {"feature_flag_id": flag}):
            return str(item.get("id"))
    raise object_not_found(project, "experiment", f"with the feature flag {key}", LIST)


def _notes(item: Json, metrics: int) -> list[str]:
    """Notes on the results."""
    if not item.get("start_date"):
        return [NOT_STARTED]
    return [MORE_METRICS.format(MOST_METRICS, metrics)] if metrics > MOST_METRICS else []


async def _measure(api: PosthogApi, project: Project, item: Json, metric: Json) -> Measured:
    """The result of a metric, or its error, so that the other metrics are still returned."""
    fields = {"name": _name(metric), "kind": metric.get("metric_type") or metric.get("kind")}
    query = {"kind": "ExperimentQuery", "experiment_id": item.get("id"), "metric": metric}
    try:
        response = await run(api, project, query)
    except ToolFailed as failed:
        if "`query:read`" in failed.text:
            raise failed.with_text(f"{failed.text} {WITHOUT_SCOPE}") from failed
        if failed.kind not in ("upstream_refused", "invalid_arguments"):
            raise
        return read(Measured, {**fields, "failed": failed.text})
    return read(Measured, {**fields, "result": _by_variant(response)})


def _by_variant(response: Json) -> Table:
    base, others = response.get("baseline") or {}, response.get("variant_results") or []
    return table(COLUMNS, [_row(variant) for variant in [base, *others] if isinstance(variant, dict)])


def _row(variant: Json) -> list[object]:
    interval = variant.get("credible_interval") or variant.get("confidence_interval") or []
    change = " to ".join(f"{bound:+.1%}" for bound in map(finite, interval) if isinstance(bound, int | float)) or None
    chance = finite(variant.get("chance_to_win"))
    numbers = (variant.get("key"), variant.get("number_of_samples"), variant.get("sum"))
    significant = {True: "yes", False: "no"}.get(variant.get("significant"))  # type: ignore[arg-type]
    chance_text = f"{chance:.1%}" if isinstance(chance, int | float) else None
    return [*numbers, chance_text, variant.get("p_value"), change, significant]


def _metrics(item: Json, inline: str, shared: str) -> list[Json]:
    """Its own metrics, and the shared ones."""
    saved = [
        {**metric["query"], "name": metric.get("name")}
        for metric in item.get("saved_metrics") or []
        if isinstance(metric.get("query"), dict) and (metric.get("metadata") or {}).get("type", "primary") == shared
    ]
    return [metric for metric in item.get(inline) or [] if isinstance(metric, dict)] + saved


def _name(metric: Json) -> str:
    return str(metric.get("name") or (metric.get("source") or {}).get("event") or metric.get("metric_type") or "metric")


def _variants(item: Json) -> list[Arm]:
    flag = (item.get("feature_flag") or {}).get("filters") or {}
    variants = (flag.get("multivariate") or {}).get("variants") or []
    return [read(Arm, variant) for variant in variants if isinstance(variant, dict)]


def _link(project: Project, item: Json) -> str:
    return project.link(f"{PLACE}/{item.get('id')}")

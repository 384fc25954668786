"""The tools for experiments and their results."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.objects import Details, NoneSuch, cuts, first, listed, none_such, one, read, whole
from integrations.posthog.params import PAGED, Full, InProject, Searched, Words, choice, from_link, is_number
from integrations.posthog.resources.feature_flags import flag_number
from integrations.posthog.resources.hogql_query import run
from integrations.posthog.results import Line, Number, Page, Part, PostHogObject, Prose, Unusual, Who, finite
from integrations.posthog.tables import Table, table
from integrations.service_client import ToolFailed
from integrations.tool import tool

PLACE, FLAGS, LIST, MOST_METRICS = "experiments", "feature_flags", "posthog_list_experiments", 5
MORE_METRICS = "Only the first {} of {} main metrics are computed."
NOT_BEGUN, WITHOUT = (
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
        **PAGED,
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
    besides: ClassVar[str] = "`archived: true` lists archived experiments."
    unless: ClassVar[str] = "archived"
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
    apart: ClassVar[tuple[str, ...]] = ("description", "conclusion_comment", "variants")
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
async def posthog_list_experiments(api: PosthogApi, ask: ListExperiments) -> ExperimentPage:
    """List the experiments (A/B tests) of a PostHog project, by words in the name, status or feature flag.

    Returns id, name, hypothesis, status, the key of its feature flag, start and end, conclusion and link.
    `posthog_get_experiment` reads variants, metrics and results.
    """
    flag = ask.feature_flag_id
    number = await flag_number(api, await api.project(ask.project_id), flag) if flag else None
    query = {"search": ask.search, "status": ask.status, "archived": ask.archived, "feature_flag_id": number}

    def made(project: Project, found: Json) -> Experiment:
        return read(Experiment, found, url=_link(project, found), full=whole(found, full=ask.full))

    return await listed(api, ask, PLACE, query, ExperimentPage, made)


@tool("Read an experiment")
async def posthog_get_experiment(api: PosthogApi, ask: GetExperiment) -> ExperimentDetails:
    """Read one experiment by its number, link or flag's key; with `results: true`, also results of its main metrics.

    Returns hypothesis, status, dates, conclusion, feature flag, variants with their shares, and names of the metrics.
    Results: for each main metric (at most five) one row per variant: number of persons, chance to win or p-value,
    interval of the change, and significance. They need the scope `query:read`, and some seconds each.
    """
    project = await api.project(ask.project_id)
    number = await _number(api, project, ask.experiment_id)
    found = await one(api, project, PLACE, number, "experiment", LIST)
    metrics = _metrics(found, "metrics", "primary")
    experiment = read(
        WholeExperiment,
        found,
        url=_link(project, found),
        feature_flag_id=(found.get("feature_flag") or {}).get("id"),
        variants=_arms(found),
        metrics=[_name(metric) for metric in metrics],
        secondary_metrics=[_name(metric) for metric in _metrics(found, "metrics_secondary", "secondary")],
        full=whole(found, full=ask.full, alone=True),
    )
    measured = [await _measured(api, project, found, metric) for metric in metrics[:MOST_METRICS] if ask.results]
    notes = [*_notes(found, len(metrics)), *cuts(experiment)] if ask.results else cuts(experiment)
    return ExperimentDetails(project_id=project.id, experiment=experiment, measured=measured, notes=notes)


async def _number(api: PosthogApi, project: Project, said: str) -> str:
    """The number of the latest experiment with this flag key."""
    if is_number(said):
        return said
    with suppress(NoneSuch):
        flag = await flag_number(api, project, said)
        if found := await first(api, project, PLACE, {"feature_flag_id": flag}):
            return str(found.get("id"))
    raise none_such(project, "experiment", f"with the feature flag {said}", LIST)


def _notes(found: Json, metrics: int) -> list[str]:
    """Notes on the results."""
    if not found.get("start_date"):
        return [NOT_BEGUN]
    return [MORE_METRICS.format(MOST_METRICS, metrics)] if metrics > MOST_METRICS else []


async def _measured(api: PosthogApi, project: Project, found: Json, metric: Json) -> Measured:
    """The result of a metric, or its error, so that the other metrics are still returned."""
    told = {"name": _name(metric), "kind": metric.get("metric_type") or metric.get("kind")}
    query = {"kind": "ExperimentQuery", "experiment_id": found.get("id"), "metric": metric}
    try:
        response = await run(api, project, query)
    except ToolFailed as failed:
        if "`query:read`" in failed.text:
            raise failed.with_text(f"{failed.text} {WITHOUT}") from failed
        if failed.kind not in ("upstream_refused", "invalid_arguments"):
            raise
        return read(Measured, {**told, "failed": failed.text})
    return read(Measured, {**told, "result": _by_variant(response)})


def _by_variant(response: Json) -> Table:
    base, others = response.get("baseline") or {}, response.get("variant_results") or []
    return table(COLUMNS, [_row(variant) for variant in [base, *others] if isinstance(variant, dict)])


def _row(found: Json) -> list[object]:
    interval = found.get("credible_interval") or found.get("confidence_interval") or []
    told = " to ".join(f"{bound:+.1%}" for bound in map(finite, interval) if isinstance(bound, int | float)) or None
    chance = finite(found.get("chance_to_win"))
    numbers = (found.get("key"), found.get("number_of_samples"), found.get("sum"))
    sure = {True: "yes", False: "no"}.get(found.get("significant"))  # type: ignore[arg-type]
    likely = f"{chance:.1%}" if isinstance(chance, int | float) else None
    return [*numbers, likely, found.get("p_value"), told, sure]


def _metrics(found: Json, inline: str, shared: str) -> list[Json]:
    """Its own metrics, and the shared ones."""
    saved = [
        {**metric["query"], "name": metric.get("name")}
        for metric in found.get("saved_metrics") or []
        if isinstance(metric.get("query"), dict) and (metric.get("metadata") or {}).get("type", "primary") == shared
    ]
    return [metric for metric in found.get(inline) or [] if isinstance(metric, dict)] + saved


def _name(metric: Json) -> str:
    return str(metric.get("name") or (metric.get("source") or {}).get("event") or metric.get("metric_type") or "metric")


def _arms(found: Json) -> list[Arm]:
    flag = (found.get("feature_flag") or {}).get("filters") or {}
    variants = (flag.get("multivariate") or {}).get("variants") or []
    return [read(Arm, variant) for variant in variants if isinstance(variant, dict)]


def _link(project: Project, found: Json) -> str:
    return project.link(f"{PLACE}/{found.get('id')}")

"""The tools for surveys and their response counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from integrations.json_object import Json
from integrations.posthog.client import PosthogApi, Project
from integrations.posthog.objects import Details, cut_notes, full_object, list_objects, read, read_object
from integrations.posthog.params import PAGING_ALIASES, Full, InProject, Searched, choice, from_link, require_uuid
from integrations.posthog.results import Count, Line, Number, Page, Part, PostHogObject, Prose, Unusual, Who
from integrations.service_client import ToolFailed
from integrations.tool import tool

PLACE, LIST = "surveys", "posthog_list_surveys"
EVENT_BY_COUNT = {"shown": "survey shown", "dismissed": "survey dismissed", "answered": "survey sent"}
"""PostHog's events by the names of our counts."""

STATUSES = choice(
    *("draft", "running", "complete"),
    **dict.fromkeys(("completed", "finished", "ended", "stopped", "closed"), "complete"),
    **dict.fromkeys(("active", "live", "open", "launched"), "running"),
)
TYPES = choice("popover", "widget", "external_survey", "api", external="external_survey", popup="popover")


class ListSurveys(Searched):
    aliases: ClassVar[Mapping[str, str]] = {**PAGING_ALIASES, "state": "status", "surveytype": "type"}
    status: Annotated[Literal["draft", "running", "complete"] | None, STATUSES] = Field(
        default=None, description="`draft`: not yet started; `running`: open; `complete`: ended."
    )
    type: Annotated[Literal["popover", "widget", "external_survey", "api"] | None, TYPES] = Field(
        default=None, description="How it is shown; `external_survey`: with a link; `api`: by the team's own code."
    )
    archived: bool | None = Field(
        default=None, description="True: only archived surveys; false: only surveys that are not archived."
    )


class GetSurvey(InProject):
    aliases: ClassVar[Mapping[str, str]] = {
        **InProject.aliases,
        **dict.fromkeys(("id", "survey", "url"), "survey_id"),
        **dict.fromkeys(("results", "statistics"), "stats"),
    }
    survey_id: Annotated[str, from_link(PLACE), require_uuid(LIST)] = Field(
        description="Its UUID, or a link to it.", examples=["018f2a52-7c1e-0000-9d0c-1f6f0a5b7c11"]
    )
    stats: bool = Field(default=True, description="Also count how often it was shown and answered.")
    full: Full = False


class Survey(PostHogObject):
    name: Line = None
    description: Line = None
    type: str | None = None
    questions: list[str] = Field(default=[])
    start_date: str | None = None
    end_date: str | None = None
    archived: Unusual = None
    created_by: Who = None


class SurveyPage(Page[Survey]):
    what: ClassVar[tuple[str, str]] = ("survey", "surveys")
    hint: ClassVar[str] = "`search` covers names and descriptions."
    reader: ClassVar[str] = "posthog_get_survey"


class Question(Part):
    id: str | None = None
    question: Line = None
    type: str | None = None
    choices: list[str] = Field(default=[])
    optional: bool | None = None


class Counts(Part):
    """Numbers of events, and of their persons."""

    shown: Count = None
    shown_to: Count = None
    dismissed: Count = None
    answered: Count = None
    answered_by: Count = None
    response_rate: Number = Field(
        default=None, description="Answers in percent of the times that the survey was shown."
    )
    first_seen: str | None = None
    last_answer: str | None = None


class WholeSurvey(Survey):
    separate_fields: ClassVar[tuple[str, ...]] = ("description", "questions")
    description: Prose = None
    questions: list[Question] = Field(default=[])  # type: ignore[assignment]  # more of each
    linked_flag_id: str | None = None
    responses_limit: Count = None
    counts: Counts | None = None


class SurveyDetails(Details):
    survey: WholeSurvey

    def item(self) -> PostHogObject:
        return self.survey


@tool("List surveys")
async def posthog_list_surveys(api: PosthogApi, params: ListSurveys) -> SurveyPage:
    """List the surveys of a PostHog project, by words, status or type.

    Returns id, name, type, questions, start and end, and link. `posthog_get_survey` counts the answers.
    If nothing matches `search`, similar surveys are returned.
    """
    query = {"search": params.search, "status": params.status, "type": params.type, "archived": params.archived}

    def parse(project: Project, item: Json) -> Survey:
        questions = [str(question.get("question")) for question in _questions(item)]
        more = {"url": _link(project, item), "full": full_object(item, full=params.full)}
        return read(Survey, item, questions=questions, **more)

    return await list_objects(api, params, PLACE, query, SurveyPage, parse)


@tool("Read a survey")
async def posthog_get_survey(api: PosthogApi, params: GetSurvey) -> SurveyDetails:
    """Read one survey by its UUID or link, and count how often it was shown, dismissed and answered.

    Returns questions with their ids, types and choices, dates, and counts. For the answers, use `posthog_get`
    with path `/api/projects/{projectId}/surveys/{id}/responses/` (params `limit`, `offset`, `question_id`, `since`).
    """
    project = await api.project(params.project_id)
    item = await read_object(api, project, PLACE, params.survey_id, "survey", LIST)
    counts, notes = await _counts(api, project, params) if params.stats and item.get("start_date") else (None, [])
    more = {"url": _link(project, item), "full": full_object(item, full=params.full, is_alone=True), "counts": counts}
    survey = read(WholeSurvey, item, questions=[read(Question, question) for question in _questions(item)], **more)
    return SurveyDetails(project_id=project.id, survey=survey, notes=[*notes, *cut_notes(survey)])


async def _counts(api: PosthogApi, project: Project, params: GetSurvey) -> tuple[Counts | None, list[str]]:
    """The counts; if they cannot be read, a note and no counts."""
    try:
        stats = await api.get(project.path(PLACE, params.survey_id, "stats"))
    except ToolFailed as failed:
        if failed.kind != "upstream_refused":
            raise
        return None, [f"The counts could not be read: {failed.text}"]
    by_event = {name: (stats.get("stats") or {}).get(event) or {} for name, event in EVENT_BY_COUNT.items()}
    fields = {
        **{name: value.get("total_count") for name, value in by_event.items()},
        "shown_to": by_event["shown"].get("unique_persons"),
        "answered_by": by_event["answered"].get("unique_persons"),
        "response_rate": (stats.get("rates") or {}).get("response_rate"),
        "first_seen": by_event["shown"].get("first_seen"),
        "last_answer": by_event["answered"].get("last_seen"),
    }
    return read(Counts, fields), []


def _questions(item: Json) -> list[Json]:
    return [question for question in item.get("questions") or [] if isinstance(question, dict)]


def _link(project: Project, item: Json) -> str:
    return project.link(f"{PLACE}/{item.get('id')}")

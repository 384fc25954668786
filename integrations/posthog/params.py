"""Parameters that the tools share: a project, a page, and ids that may be given as links."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import quote, unquote

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from integrations.argument_coercion import plain_name
from integrations.json_object import Json
from integrations.paging import paging_aliases
from integrations.tool import Params

MOST, USUAL, DEEPEST = 100, 50, 10**9
LONGEST_SEARCH, LONGEST_SENT = 200, 1_200
"""The second is the URL-encoded length; a URL may have 2,048 characters."""
LAST = frozenset({"projectId", "limit", "offset", "cursor", "full"})
OF_PROJECT: Mapping[str, str] = dict.fromkeys(("project", "teamid", "team", "environmentid"), "project_id")
PAGED: Mapping[str, str] = {
    **OF_PROJECT,
    **paging_aliases(cursor="offset", size="limit", counts=True),
    **dict.fromkeys(("query", "q", "name", "term", "searchterm"), "search"),
}
_PROJECT = re.compile(r"/project/([0-9]+)(?:[/?#]|$)")
_NUMBER = re.compile(r"[0-9]{1,19}")
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def _project_id(given: object) -> object:
    """The number of a project; None means the key's own project."""
    text = str(given).strip()
    if found := _PROJECT.search(text):
        return found[1]
    if text.lower() in ("", "@current", "current"):
        return None
    if not _NUMBER.fullmatch(text):
        raise ValueError("must be a number; `posthog_list_projects` lists the projects with their numbers")
    return text


def choice(*known: str, **others: str) -> BeforeValidator:
    """Accept one of the known words in upper or lower case, or a synonym."""
    names = {name.lower(): name for name in known} | others

    def read(given: object) -> object:
        return names.get(str(given).strip().lower(), given) if isinstance(given, str | bool) else given

    return BeforeValidator(read)


def _alone(given: object) -> object:
    """Unwrap a list with one name."""
    if isinstance(given, list) and len(given) != 1:
        raise ValueError("must be one name: make one call for each name")
    return given[0] if isinstance(given, list) else given


def _sendable(given: str) -> str:
    if len(quote(given)) > LONGEST_SENT:
        raise ValueError("is too long")
    return given


def _listed(given: object) -> object:
    return [word.strip() for word in given.split(",")] if isinstance(given, str) else given


def from_link(place: str) -> BeforeValidator:
    """Accept a link such as `…/feature_flags/7` instead of an id."""
    pattern = re.compile(rf"/{place}/([^/?#]+)")

    def read(given: object) -> object:
        found = pattern.search(given) if isinstance(given, str) else None
        return unquote(found[1]) if found else given

    return BeforeValidator(read)


def numbered(list_tool: str) -> AfterValidator:
    return AfterValidator(
        _checked(_NUMBER, f"must be a number or a link; `{list_tool}` with `search` finds it by name")
    )


def identified(list_tool: str) -> AfterValidator:
    return AfterValidator(_checked(_UUID, f"must be a UUID or a link; `{list_tool}` with `search` finds it by name"))


def is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


def is_uuid(text: str) -> bool:
    return bool(_UUID.fullmatch(text))


def _checked(pattern: re.Pattern[str], otherwise: str) -> Callable[[str], str]:
    def check(given: str) -> str:
        if not pattern.fullmatch(given):
            raise ValueError(otherwise)
        return given

    return check


ProjectId = Annotated[
    str | None,
    BeforeValidator(_project_id),
    Field(description="The project's number; by default the key's own project.", examples=["12345"]),
]
Name = Annotated[str, BeforeValidator(_alone), AfterValidator(_sendable)]
"""One name that is sent in a URL."""
Words = Annotated[str, AfterValidator(_sendable)]
Names = Annotated[list[Words], BeforeValidator(_listed)]
Full = Annotated[bool, Field(description="Also return PostHog's complete object, under `full`. Long.")]


class InProject(Params):
    aliases: ClassVar[Mapping[str, str]] = OF_PROJECT
    project_id: ProjectId = None

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        """List a tool's own parameters before the shared ones."""
        schema = handler.resolve_ref_schema(handler(core))
        schema["properties"] = dict(sorted(schema["properties"].items(), key=lambda entry: entry[0] in LAST))
        return schema

    @model_validator(mode="before")
    @classmethod
    def _project_of_a_link(cls, given: Any) -> Any:
        """Take the project from a link if none is given."""
        if not isinstance(given, dict) or any(plain_name(str(name)) in _PROJECT_NAMES for name in given):
            return given
        links = [_PROJECT.search(value) for value in given.values() if isinstance(value, str) and "://" in value]
        return {**given, "projectId": links[0][1]} if links and links[0] else given


class Paged(InProject):
    aliases: ClassVar[Mapping[str, str]] = PAGED
    limit: int = Field(default=USUAL, ge=1, le=MOST, description="The maximum number of results.")
    offset: int = Field(
        default=0, ge=0, le=DEEPEST, description="For the next page: the `nextCursor` of the previous page."
    )
    full: Full = False

    @property
    def narrowed(self) -> bool:
        """Whether any parameter narrows the list."""
        return bool({to_camel(name) for name in self.model_fields_set} - LAST)


class Searched(Paged):
    search: Words | None = Field(
        default=None, max_length=LONGEST_SEARCH, description="Only those whose name or description contains this."
    )


_PROJECT_NAMES = frozenset({"projectid", *OF_PROJECT})

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

MAX_LIMIT, DEFAULT_LIMIT, MAX_OFFSET = 100, 50, 10**9
MAX_SEARCH_LENGTH, MAX_URL_LENGTH = 200, 1_200
"""The second is the URL-encoded length; a URL may have 2,048 characters."""
SHARED_PARAMETERS = frozenset({"projectId", "limit", "offset", "cursor", "full"})
PROJECT_ALIASES: Mapping[str, str] = dict.fromkeys(("project", "teamid", "team", "environmentid"), "project_id")
PAGING_ALIASES: Mapping[str, str] = {
    **PROJECT_ALIASES,
    **paging_aliases(cursor="offset", size="limit", counts=True),
    **dict.fromkeys(("query", "q", "name", "term", "searchterm"), "search"),
}
_PROJECT = re.compile(r"/project/([0-9]+)(?:[/?#]|$)")
_NUMBER = re.compile(r"[0-9]{1,19}")
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def _project_id(value: object) -> object:
    """The number of a project; None means the key's own project."""
    text = str(value).strip()
    if match := _PROJECT.search(text):
        return match[1]
    if text.lower() in ("", "@current", "current"):
        return None
    if not _NUMBER.fullmatch(text):
        raise ValueError("must be a number; `posthog_list_projects` lists the projects with their numbers")
    return text


def choice(*words: str, **others: str) -> BeforeValidator:
    """Accept one of the known words in upper or lower case, or a synonym."""
    names = {word.lower(): word for word in words} | others

    def read(value: object) -> object:
        return names.get(str(value).strip().lower(), value) if isinstance(value, str | bool) else value

    return BeforeValidator(read)


def _unwrap_single(value: object) -> object:
    """Unwrap a list with one name."""
    if isinstance(value, list) and len(value) != 1:
        raise ValueError("must be one name: make one call for each name")
    return value[0] if isinstance(value, list) else value


def _validate_length(text: str) -> str:
    if len(quote(text)) > MAX_URL_LENGTH:
        raise ValueError("is too long")
    return text


def _split_names(value: object) -> object:
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


def from_link(segment: str) -> BeforeValidator:
    """Accept a link such as `…/feature_flags/7` instead of an id."""
    pattern = re.compile(rf"/{segment}/([^/?#]+)")

    def read(value: object) -> object:
        match = pattern.search(value) if isinstance(value, str) else None
        return unquote(match[1]) if match else value

    return BeforeValidator(read)


def require_number(list_tool: str) -> AfterValidator:
    return AfterValidator(
        _pattern_check(_NUMBER, f"must be a number or a link; `{list_tool}` with `search` finds it by name")
    )


def require_uuid(list_tool: str) -> AfterValidator:
    return AfterValidator(
        _pattern_check(_UUID, f"must be a UUID or a link; `{list_tool}` with `search` finds it by name")
    )


def is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


def is_uuid(text: str) -> bool:
    return bool(_UUID.fullmatch(text))


def _pattern_check(pattern: re.Pattern[str], message: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(message)
        return text

    return check


ProjectId = Annotated[
    str | None,
    BeforeValidator(_project_id),
    Field(description="The project's number; by default the key's own project.", examples=["12345"]),
]
Name = Annotated[str, BeforeValidator(_unwrap_single), AfterValidator(_validate_length)]
"""One name that is sent in a URL."""
Words = Annotated[str, AfterValidator(_validate_length)]
NameList = Annotated[list[Words], BeforeValidator(_split_names)]
Full = Annotated[bool, Field(description="Also return PostHog's complete object, under `full`. Long.")]


class InProject(Params):
    aliases: ClassVar[Mapping[str, str]] = PROJECT_ALIASES
    project_id: ProjectId = None

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        """List a tool's own parameters before the shared ones."""
        schema = handler.resolve_ref_schema(handler(core))
        schema["properties"] = dict(
            sorted(schema["properties"].items(), key=lambda entry: entry[0] in SHARED_PARAMETERS)
        )
        return schema

    @model_validator(mode="before")
    @classmethod
    def _project_of_a_link(cls, args: Any) -> Any:
        """Take the project from a link if none is given."""
        if not isinstance(args, dict) or any(plain_name(str(name)) in _PROJECT_NAMES for name in args):
            return args
        links = [_PROJECT.search(value) for value in args.values() if isinstance(value, str) and "://" in value]
        return {**args, "projectId": links[0][1]} if links and links[0] else args


class Paged(InProject):
    aliases: ClassVar[Mapping[str, str]] = PAGING_ALIASES
    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="The maximum number of results.")
    offset: int = Field(
        default=0, ge=0, le=MAX_OFFSET, description="For the next page: the `nextCursor` of the previous page."
    )
    full: Full = False

    @property
    def is_narrowed(self) -> bool:
        """Whether any parameter narrows the list."""
        return bool({to_camel(name) for name in self.model_fields_set} - SHARED_PARAMETERS)


class Searched(Paged):
    search: Words | None = Field(
        default=None, max_length=MAX_SEARCH_LENGTH, description="Only those whose name or description contains this."
    )


_PROJECT_NAMES = frozenset({"projectid", *PROJECT_ALIASES})

"""Parameters of the list, get and search tools, which every kind of record shares."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from integrations.hubspot.record_kinds import Kind
from integrations.hubspot.search_params import Filters, PropertyName, SortOrder
from integrations.paging import paging_aliases
from integrations.similar_names import bare_name
from integrations.tool import Params

MAX_REACHABLE = 10_000
"""The maximum of results that HubSpot returns for one search."""
NEUTRAL_PARAMETERS = frozenset({"limit", "after", "properties"})
"""Parameters of a search that neither narrow nor sort it."""
_NAME = re.compile(r"[\w.]+")
_OFFSET = re.compile(r"[0-9]{1,9}")
_CURSOR = re.compile(r"[\w=.:+/-]{0,200}", re.ASCII)


def _names(value: object) -> object:
    """Split a text with commas or spaces into names."""
    return _NAME.findall(value) if isinstance(value, str) else value


def offset(value: str) -> str:
    """Check a numeric cursor."""
    if value and not _OFFSET.fullmatch(value):
        raise ValueError("must be the `nextCursor` of the previous page, a number")
    return value


def _cursor(value: str) -> str:
    if not _CURSOR.fullmatch(value):
        raise ValueError("must be the `nextCursor` of the previous page")
    return value


def _validate_reach(value: str) -> str:
    if int(value or 0) >= MAX_REACHABLE:
        raise ValueError(f"must be below {MAX_REACHABLE:,}: HubSpot returns no more; narrow the search with `filters`")
    return value


Properties = Annotated[
    list[PropertyName],
    BeforeValidator(_names),
    Field(
        max_length=100,
        description="Internal names of the properties to read instead of the default ones, including custom ones.",
        examples=[["email", "lifecyclestage"]],
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="The maximum number of results.")]
Cursor = Annotated[
    str,
    AfterValidator(_cursor),
    Field(max_length=200, description="For the next page: the `nextCursor` of the previous page."),
]
PAGING_ALIASES = {**paging_aliases(cursor="after", size="limit", counts=True)}
PROPERTY_ALIASES = dict.fromkeys(("fields", "propertynames", "columns"), "properties")


SEARCH_ALIASES = {
    **dict.fromkeys(("q", "text", "search", "term", "keyword", "keywords"), "query"),
    **dict.fromkeys(("filtergroups", "filter", "where"), "filters"),
    **dict.fromkeys(("ownerid", "hubspotownerid", "owneremail", "ownername"), "owner"),
    **dict.fromkeys(("sorts", "sortby", "orderby", "order"), "sort"),
}
SEARCH_PARAMETERS = {*SEARCH_ALIASES, *SEARCH_ALIASES.values(), "stage", "pipeline", "companyid", "contactid", "dealid"}
"""Parameters that a search accepts and a list does not."""


class Page(Params):
    """Parameters that concern one kind of record."""

    aliases: ClassVar = PAGING_ALIASES | PROPERTY_ALIASES
    kind: ClassVar[Kind]
    limit: Limit = 50
    after: Cursor = ""
    properties: Properties = Field(default_factory=list)
    archived: bool = Field(default=False, description="List deleted records instead.")

    @model_validator(mode="before")
    @classmethod
    def _reject_search_fields(cls, args: object) -> object:
        return reject_search_fields(args, SEARCH_PARAMETERS, f"hubspot_search_{cls.kind.plural}")


class One(Params):
    """Parameters that concern one kind of record."""

    aliases: ClassVar = PROPERTY_ALIASES
    kind: ClassVar[Kind]
    properties: Properties = Field(default_factory=list)
    full: bool = Field(default=False, description="Read every property that has a value, custom ones included.")
    archived: bool = Field(default=False, description="Read a deleted record.")


class Search(Params):
    """Parameters of a search for one kind; subclasses add associations."""

    aliases: ClassVar = PAGING_ALIASES | PROPERTY_ALIASES | SEARCH_ALIASES
    kind: ClassVar[Kind]
    query: str = Field(
        default="",
        max_length=3000,
        description="Words to look for, or the beginnings of words. Give a phone number without its country code.",
    )
    filters: Filters = Field(
        default=[],
        description="Conditions, all of which must hold.",
        examples=[[{"propertyName": "createdate", "operator": "GTE", "value": "2026-11-01"}]],
    )
    owner: str = Field(
        default="",
        max_length=200,
        description="Only records of this owner: a name, an email address or an id.",
        examples=["Grace Hopper"],
    )
    sort: SortOrder = ""
    limit: Limit = 50
    after: Annotated[Cursor, AfterValidator(offset), AfterValidator(_validate_reach)] = ""
    properties: Properties = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _drop_archived(cls, args: object) -> object:
        """Accept `archived: false`, which models add because lists have it."""
        if not isinstance(args, dict):
            return args
        if str(args.get("archived", False)).lower() in ("true", "1"):
            raise ValueError(
                "A search never finds deleted records; "
                f"`hubspot_list_{cls.kind.plural}` with `archived: true` lists them"
            )
        return {name: value for name, value in args.items() if name != "archived"}

    @model_validator(mode="after")
    def _require_criterion(self) -> Search:
        if not any(self.model_dump(exclude=set(NEUTRAL_PARAMETERS)).values()):
            raise ValueError(
                "Give a `query`, a `sort` or a condition to search by; "
                f"`hubspot_list_{self.kind.plural}` lists all {self.kind.plural}"
            )
        return self


def reject_search_fields(args: object, names: Container[str], search: str) -> object:
    """Reject search parameters of a list with the name of the search tool."""
    fields = args if isinstance(args, dict) else {}
    search_fields = [name for name, value in fields.items() if value and bare_name(str(name)) in names]
    if search_fields:
        raise ValueError(f"A list does not accept `{search_fields[0]}`; `{search}` does")
    return args

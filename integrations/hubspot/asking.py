"""What can be asked of every kind of record: a page of them, one of them, or those that fit?"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from integrations.hubspot.filters import Filter, Filters, PropertyName, SortOrder
from integrations.tool import Params

REACHABLE = 10_000
"""So many results of a search can be paged through, and no more."""
EVERYWHERE = frozenset({"sort", "limit", "after", "properties", "archived"})
"""What of a search narrows nothing."""
_NAME = re.compile(r"[\w.]+")
_PLACE = re.compile(r"[0-9]{1,9}")


def _names(given: object) -> object:
    """Also as one text, with commas or spaces between the names."""
    return _NAME.findall(given) if isinstance(given, str) else given


def place(given: str) -> str:
    """Of cursors that count."""
    if given and not _PLACE.fullmatch(given):
        raise ValueError("it is the `nextCursor` of the page before, a number")
    return given


def _within_reach(given: str) -> str:
    if int(given or 0) >= REACHABLE:
        raise ValueError(f"HubSpot pages through the first {REACHABLE:,} results only; narrow the search with filters")
    return given


def _present(given: bool) -> bool:
    if given:
        raise ValueError("a search never finds what is archived; the list tool with `archived: true` does")
    return given


Properties = Annotated[
    list[PropertyName],
    BeforeValidator(_names),
    Field(
        max_length=100,
        description="Internal names of the properties to read instead of the usual ones; custom ones work as well.",
        examples=[["email", "lifecyclestage"]],
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many to answer at most.")]
Cursor = Annotated[str, Field(max_length=200, description="For the next page: `nextCursor` of the page before.")]
Archived = Annotated[bool, Field(description="Read what is in the recycling bin instead.")]

PAGED = {
    **dict.fromkeys(("cursor", "nextcursor", "startcursor", "pagetoken", "offset"), "after"),
    **dict.fromkeys(("count", "pagesize", "perpage", "first", "max", "maxresults"), "limit"),
}
CHOSEN = dict.fromkeys(("fields", "propertynames", "columns"), "properties")


class Page(Params):
    also: ClassVar = PAGED | CHOSEN
    limit: Limit = 50
    after: Cursor = ""
    properties: Properties = Field(default_factory=list)
    archived: Archived = False


class One(Params):
    also: ClassVar = CHOSEN
    properties: Properties = Field(default_factory=list)
    full: bool = Field(default=False, description="Read every property that has a value, custom ones included.")
    archived: Archived = False


class Search(Params):
    """For one kind, with what its records belong to."""

    also: ClassVar = {
        **PAGED,
        **CHOSEN,
        **dict.fromkeys(("q", "text", "search", "term", "keyword"), "query"),
        **dict.fromkeys(("filtergroups", "filter", "where"), "filters"),
        **dict.fromkeys(("ownerid", "hubspotownerid", "owneremail"), "owner"),
        **dict.fromkeys(("sorts", "sortby", "orderby", "order"), "sort"),
    }
    query: str = Field(
        default="",
        max_length=3000,
        description="Words to look for, by their beginnings. A phone number without the code of its country.",
    )
    filters: Filters = Field(
        default=[],
        description="What has to hold, all of it.",
        examples=[[{"propertyName": "createdate", "operator": "GTE", "value": "2026-11-01"}]],
    )
    owner: str = Field(default="", max_length=200, description="Only those of this owner: an id or an email address.")
    sort: SortOrder = ""
    limit: Limit = 50
    after: Annotated[Cursor, AfterValidator(place), AfterValidator(_within_reach)] = ""
    properties: Properties = Field(default_factory=list)
    archived: Annotated[bool, AfterValidator(_present)] = Field(default=False, description="Always false.")

    @model_validator(mode="after")
    def _asks_for_something(self) -> Search:
        if not any(self.model_dump(exclude=set(EVERYWHERE)).values()):
            raise ValueError(
                "Give a `query` or something to narrow the search by; to see all there is, use the list tool"
            )
        return self


def belongs_to(one: str, record_id: str) -> list[Filter]:
    """To be associated is a property in a search, and in nothing else."""
    return equals(f"associations.{one}", record_id)


def equals(name: str, *values: str) -> list[Filter]:
    """With one of the values, or with any where there is none."""
    found = [each for each in values if each]
    operator = {"operator": "EQ", "value": found[0]} if len(found) == 1 else {"operator": "IN", "values": found}
    return [Filter.model_validate({"propertyName": name, **operator})] if found else []

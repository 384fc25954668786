"""Parameters that narrow and sort a search: filters on properties, and the order of results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.alias_generators import to_camel

from integrations.json_object import Json
from integrations.tool import Params

LONGEST_VALUE = 200
"""The maximum length of one value in a list."""

MAX_FILTERS = 6
"""The maximum of filters in one group, including those that tools add."""
SIGNS = {
    **dict.fromkeys(("=", "==", "EQUALS"), "EQ"),
    **dict.fromkeys(("!=", "<>", "NOT_EQUALS"), "NEQ"),
    "<": "LT",
    "<=": "LTE",
    ">": "GT",
    ">=": "GTE",
    "CONTAINS": "CONTAINS_TOKEN",
    "EXISTS": "HAS_PROPERTY",
    "IS_EMPTY": "NOT_HAS_PROPERTY",
}
"""Other spellings of HubSpot's operators."""

LISTS = ("IN", "NOT_IN")
NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(LISTS, ("values",)),
    **dict.fromkeys(("HAS_PROPERTY", "NOT_HAS_PROPERTY"), ()),
    "BETWEEN": ("value", "high_value"),
}
"""The fields that an operator needs; all others need `value`."""
LONGEST_ORDER = 200
_NAME = re.compile(r"[a-z0-9_.]{1,100}")
_ORDER = re.compile(r"(?P<down>-?)(?P<name>.*?)(?:[\s:]+(?P<order>asc|desc)\w*)?", re.IGNORECASE)

Operator = Literal[
    "EQ",
    "NEQ",
    "LT",
    "LTE",
    "GT",
    "GTE",
    "BETWEEN",
    "IN",
    "NOT_IN",
    "HAS_PROPERTY",
    "NOT_HAS_PROPERTY",
    "CONTAINS_TOKEN",
    "NOT_CONTAINS_TOKEN",
]


def property_name(given: object) -> object:
    """HubSpot's property names are always in lower case."""
    return given.strip().lower() if isinstance(given, str) else given


def _operator(given: object) -> object:
    if not isinstance(given, str):
        return given
    word = re.sub(r"[\s-]+", "_", given.strip()).upper()
    return SIGNS.get(word, word)


def _is_name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise ValueError("must be an internal name such as `createdate`: only letters, digits and underscores")
    return given


PropertyName = Annotated[str, BeforeValidator(property_name), AfterValidator(_is_name)]


def _plain(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _several(given: object) -> object:
    return given if isinstance(given, list) else [given]


class Filter(Params):
    aliases: ClassVar = {
        **dict.fromkeys(("property", "field", "name"), "property_name"),
        **dict.fromkeys(("to", "valueto"), "high_value"),
        "op": "operator",
    }
    property_name: str = Field(
        min_length=1, max_length=200, description="The property's internal name, or its label.", examples=["amount"]
    )
    operator: Annotated[Operator, BeforeValidator(_operator)] = Field(
        default="EQ", description="CONTAINS_TOKEN matches whole words; `*` matches the rest of a word, as in `ada*`."
    )
    value: Annotated[str, BeforeValidator(_plain)] = Field(
        default="",
        max_length=3000,
        description="For owners, stages and other choices: the name or the id. "
        "For dates: 2026-11-30 (the whole day in UTC) or 2026-11-30T15:00:00Z.",
    )
    high_value: str = Field(default="", max_length=100, description="The upper end of BETWEEN, which is included.")
    values: Annotated[list[Annotated[str, Field(max_length=LONGEST_VALUE)]], BeforeValidator(_several)] = Field(
        default=[], max_length=100, description="For IN and NOT_IN."
    )

    @model_validator(mode="before")
    @classmethod
    def _in_its_place(cls, given: object) -> object:
        """Move a list from `value` to `values`, and the two ends of a range from a list to their fields."""
        if not isinstance(given, dict):
            return given
        operator = _operator(given.get("operator", given.get("op", "EQ")))
        value, values = given.get("value"), given.get("values")
        if operator in LISTS and not values and value not in (None, "", []):
            return {**given, "value": "", "values": value}
        several = values or value
        if operator == "BETWEEN" and isinstance(several, list) and len(several) == len(("low", "high")):
            return {**given, "value": several[0], "highValue": several[1], "values": []}
        return given

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Filter:
        needed = NEEDS.get(self.operator, ("value",))
        for name in needed:
            if not getattr(self, name):
                raise ValueError(f"{self.operator} needs `{to_camel(name)}`{', a list' if name == 'values' else ''}")
        return self


def one_group(given: object) -> object:
    """Unwrap the only group of filters in the form of HubSpot's own API."""
    found = [given] if isinstance(given, dict) else given
    if not isinstance(found, list) or not any(isinstance(item, dict) and "filters" in item for item in found):
        return found
    if len(found) > 1:
        raise ValueError("must be one group, because all filters must hold; for alternatives use IN, or search twice")
    return found[0]["filters"]


Filters = Annotated[list[Filter], BeforeValidator(one_group), Field(max_length=MAX_FILTERS)]


def _sort_order(given: object) -> object:
    """Convert HubSpot's own form, a list of sorts of which it uses the first."""
    first = given[0] if isinstance(given, list) and given else given
    if isinstance(first, dict):
        name = first.get("propertyName") or first.get("property")
        return f"{name} {first.get('direction', '')}"
    return first


def _sort_text(given: str) -> str:
    found = _ORDER.fullmatch(given.strip()[:LONGEST_ORDER])
    if found is None or not found["name"]:
        return ""
    is_down = found["down"] or (found["order"] or "").lower() == "desc"
    return f"{'-' if is_down else ''}{found['name'].strip()}"


SortOrder = Annotated[
    str,
    BeforeValidator(_sort_order),
    AfterValidator(_sort_text),
    Field(
        max_length=100,
        description="The property to sort by; a leading `-` sorts the highest or latest first.",
        examples=["-createdate"],
    ),
]


def sorts(name: str, order: str) -> list[Json]:
    """The sort by a property, in the direction of the requested order."""
    return [{"propertyName": name, "direction": "DESCENDING" if order.startswith("-") else "ASCENDING"}]

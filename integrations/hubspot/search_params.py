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
OPERATOR_ALIASES = {
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
REQUIRED_FIELDS: Mapping[str, tuple[str, ...]] = {
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


def property_name(value: object) -> object:
    """HubSpot's property names are always in lower case."""
    return value.strip().lower() if isinstance(value, str) else value


def _operator(value: object) -> object:
    if not isinstance(value, str):
        return value
    word = re.sub(r"[\s-]+", "_", value.strip()).upper()
    return OPERATOR_ALIASES.get(word, word)


def _valid_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("must be an internal name such as `createdate`: only letters, digits and underscores")
    return name


PropertyName = Annotated[str, BeforeValidator(property_name), AfterValidator(_valid_name)]


def _bool_text(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


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
    value: Annotated[str, BeforeValidator(_bool_text)] = Field(
        default="",
        max_length=3000,
        description="For owners, stages and other choices: the name or the id. "
        "For dates: 2026-11-30 (the whole day in UTC) or 2026-11-30T15:00:00Z.",
    )
    high_value: str = Field(default="", max_length=100, description="The upper end of BETWEEN, which is included.")
    values: Annotated[list[Annotated[str, Field(max_length=LONGEST_VALUE)]], BeforeValidator(_as_list)] = Field(
        default=[], max_length=100, description="For IN and NOT_IN."
    )

    @model_validator(mode="before")
    @classmethod
    def _normalise_values(cls, args: object) -> object:
        """Move a list from `value` to `values`, and the two ends of a range from a list to their fields."""
        if not isinstance(args, dict):
            return args
        operator = _operator(args.get("operator", args.get("op", "EQ")))
        value, values = args.get("value"), args.get("values")
        if operator in LISTS and not values and value not in (None, "", []):
            return {**args, "value": "", "values": value}
        bounds = values or value
        if operator == "BETWEEN" and isinstance(bounds, list) and len(bounds) == len(("low", "high")):
            return {**args, "value": bounds[0], "highValue": bounds[1], "values": []}
        return args

    @model_validator(mode="after")
    def _require_fields(self) -> Filter:
        required = REQUIRED_FIELDS.get(self.operator, ("value",))
        for name in required:
            if not getattr(self, name):
                raise ValueError(f"{self.operator} needs `{to_camel(name)}`{', a list' if name == 'values' else ''}")
        return self


def unwrap_group(value: object) -> object:
    """Unwrap the only group of filters in the form of HubSpot's own API."""
    groups = [value] if isinstance(value, dict) else value
    if not isinstance(groups, list) or not any(isinstance(group, dict) and "filters" in group for group in groups):
        return groups
    if len(groups) > 1:
        raise ValueError("must be one group, because all filters must hold; for alternatives use IN, or search twice")
    return groups[0]["filters"]


Filters = Annotated[list[Filter], BeforeValidator(unwrap_group), Field(max_length=MAX_FILTERS)]


def _sort_order(value: object) -> object:
    """Convert HubSpot's own form, a list of sorts of which it uses the first."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        name = first.get("propertyName") or first.get("property")
        return f"{name} {first.get('direction', '')}"
    return first


def _sort_text(text: str) -> str:
    match = _ORDER.fullmatch(text.strip()[:LONGEST_ORDER])
    if match is None or not match["name"]:
        return ""
    is_descending = match["down"] or (match["order"] or "").lower() == "desc"
    return f"{'-' if is_descending else ''}{match['name'].strip()}"


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

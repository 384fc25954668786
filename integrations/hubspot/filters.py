"""How is a search narrowed: which property, compared how, with what?"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.alias_generators import to_camel

from integrations.tool import Json, Params

MAX_FILTERS = 6
"""In one group, of which all have to hold; those that tools add count as well."""
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
"""Of HubSpot's operators, what else they are called."""
COMPARES = ("LT", "LTE", "GT", "GTE", "BETWEEN")
_NAME = re.compile(r"[a-z0-9_.]{1,100}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ][0-9:.]+(Z|[+-]\d{2}:?\d{2})?)?")

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
    """HubSpot's names of properties are in lower case, always."""
    return given.strip().lower() if isinstance(given, str) else given


def _operator(given: object) -> object:
    if not isinstance(given, str):
        return given
    word = re.sub(r"[\s-]+", "_", given.strip()).upper()
    return SIGNS.get(word, word)


def _is_name(given: str) -> str:
    if not _NAME.fullmatch(given):
        raise ValueError("an internal name has letters, digits and underscores alone, as `annualrevenue` has")
    return given


PropertyName = Annotated[str, BeforeValidator(property_name), AfterValidator(_is_name)]


def _plain(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


class Filter(Params):
    also: ClassVar = {
        **dict.fromkeys(("property", "field", "name"), "property_name"),
        **dict.fromkeys(("to", "valueto"), "high_value"),
        "op": "operator",
    }
    property_name: PropertyName = Field(description="The property's internal name.", examples=["amount"])
    operator: Annotated[Operator, BeforeValidator(_operator)] = Field(
        default="EQ", description="CONTAINS_TOKEN finds whole words; `*` stands for the rest of one, as in `ada*`."
    )
    value: Annotated[str, BeforeValidator(_plain)] = Field(
        default="", description="Ids for owners and stages. Dates as 2026-11-30."
    )
    high_value: str = Field(default="", description="The upper end, for BETWEEN.")
    values: list[str] = Field(
        default=[], max_length=100, description="For IN and NOT_IN; of text properties in lower case."
    )

    @model_validator(mode="after")
    def _can_be_sent(self) -> Filter:
        self.sent()
        return self

    def sent(self) -> Json:
        given: Json = {"propertyName": self.property_name, "operator": self.operator}
        match self.operator:
            case "HAS_PROPERTY" | "NOT_HAS_PROPERTY":
                return given
            case "IN" | "NOT_IN":
                return given | {"values": self._several()}
            case "BETWEEN":
                return given | {"value": self._one("value"), "highValue": self._one("high_value")}
            case _:
                return given | {"value": self._one("value")}

    def _one(self, name: Literal["value", "high_value"]) -> str:
        """Moments are compared as milliseconds."""
        value = self.value if name == "value" else self.high_value
        if not value:
            raise ValueError(f"{self.operator} needs `{to_camel(name)}`")
        return _milliseconds(value) if self.operator in COMPARES and _DATE.fullmatch(value) else value

    def _several(self) -> list[str]:
        if not (self.values or self.value):
            raise ValueError(f"{self.operator} needs `values`, a list")
        return self.values or [self.value]


def _milliseconds(text: str) -> str:
    moment = datetime.fromisoformat(text)
    return str(int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))


def one_group(given: object) -> object:
    """Of filters as HubSpot's own API takes them, in groups, the only group."""
    found = [given] if isinstance(given, dict) else given
    if not isinstance(found, list) or not any(isinstance(each, dict) and "filters" in each for each in found):
        return found
    if len(found) > 1:
        raise ValueError("all filters have to hold, so there is one group; for alternatives use IN, or search twice")
    return found[0]["filters"]


Filters = Annotated[list[Filter], BeforeValidator(one_group), Field(max_length=MAX_FILTERS)]


def _sort_order(given: object) -> object:
    """Also as HubSpot has it, a list of which it honours one."""
    first = given[0] if isinstance(given, list) and given else given
    if isinstance(first, dict):
        name = first.get("propertyName") or first.get("property")
        return f"{name} {first.get('direction', '')}"
    return first


def _sort_text(given: str) -> str:
    name, _, order = given.lower().partition(" ")
    down = "-" if name.startswith("-") or order.strip().startswith("desc") else ""
    return f"{down}{name.removeprefix('-')}"


SortOrder = Annotated[
    str,
    BeforeValidator(_sort_order),
    AfterValidator(_sort_text),
    Field(
        max_length=100,
        description="The property to sort by, with `-` before it for the highest or latest first.",
        examples=["-createdate"],
    ),
]


def sorts(order: str) -> list[Json]:
    """As HubSpot wants it."""
    direction = "DESCENDING" if order.startswith("-") else "ASCENDING"
    return [{"propertyName": order.removeprefix("-"), "direction": direction}] if order else []

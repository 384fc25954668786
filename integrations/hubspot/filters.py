"""Translation of filters into the conditions of HubSpot's search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from integrations.hubspot.filter_params import Filter
from integrations.hubspot.lookup import Meant
from integrations.hubspot.parsing import Span, span
from integrations.hubspot.properties import Properties, Property
from integrations.hubspot.record_kinds import ASSOCIATED, DEALS, PIPELINE, STAGE, Kind
from integrations.json_object import Json
from integrations.service_client import ToolFailed

SEVERAL = {"EQ": "IN", "NEQ": "NOT_IN"}
"""The operator for several values, by the operator for one value."""
ALONE = {several: one for one, several in SEVERAL.items()}
LISTS = frozenset(ALONE)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Conditions:
    kind: Kind
    properties: Properties
    meant: Meant

    async def of(self, one: Filter) -> Json:
        found = await self.properties.called(one.property_name)
        match one.operator:
            case "HAS_PROPERTY" | "NOT_HAS_PROPERTY":
                return _condition(found.name, one.operator)
            case "CONTAINS_TOKEN" | "NOT_CONTAINS_TOKEN":
                return _condition(found.name, one.operator, value=one.value)
        try:
            return _of_moments(found.name, one) if found.type in ("date", "datetime") else await self._of(found, one)
        except ValueError as error:
            raise ToolFailed("invalid_arguments", f"The filter on `{found.name}`: {error}.") from error

    async def _of(self, found: Property, one: Filter) -> Json:
        match one.operator:
            case "EQ" | "NEQ" | "IN" | "NOT_IN":
                given = one.values if one.operator in LISTS else [one.value]
                several = [value for item in given for value in await self._values(found, item)]
                return among(found.name, one.operator, _written(found, one.operator, several))
            case "BETWEEN":
                return _condition(
                    found.name, one.operator, value=_number(found, one.value), highValue=_number(found, one.high_value)
                )
            case _:
                return _condition(found.name, one.operator, value=_number(found, one.value))

    async def _values(self, found: Property, given: str) -> list[str]:
        if found.is_owner:
            return [await self.meant.owner(given)]
        if self.kind is DEALS and found.name == STAGE:
            return await self.meant.stages(given, [])
        if self.kind is DEALS and found.name == PIPELINE:
            return await self.meant.pipelines(given)
        return [_number(found, found.value_of(given))]


def among(name: str, operator: str, values: Iterable[str]) -> Json:
    """The condition that a property has, or does not have, one of the values."""
    several = list(dict.fromkeys(values))
    if operator in LISTS or len(several) > 1:
        return _condition(name, SEVERAL.get(operator, operator), values=several)
    return _condition(name, operator, value=several[0])


def belongs_to(kind: Kind, number: str) -> Json:
    """The condition for an association, which only searches treat as a property."""
    return _condition(f"{ASSOCIATED}{kind.one}", "EQ", value=number)


def _condition(name: str, operator: str, **values: object) -> Json:
    return {"propertyName": name, "operator": operator, **values}


def _written(found: Property, operator: str, values: list[str]) -> list[str]:
    """HubSpot compares texts in lists only in lower case."""
    return [value.lower() for value in values] if found.type == "string" and operator in LISTS else values


def _number(found: Property, given: str) -> str:
    if found.type == "number" and not _NUMBER.fullmatch(given):
        raise ValueError(f"“{given}” is not a number: write it as 1234.5")
    return given


def _of_moments(name: str, one: Filter) -> Json:
    """HubSpot compares milliseconds; a day means all milliseconds of that day."""
    low, high = _span_of(one), span(one.high_value) if one.high_value else None
    match one.operator:
        case "BETWEEN" if high:
            return _condition(name, "BETWEEN", value=str(low.first), highValue=str(high.last))
        case "GT" | "LTE":
            return _condition(name, one.operator, value=str(low.last))
        case "LT" | "GTE":
            return _condition(name, one.operator, value=str(low.first))
        case "EQ" | "IN" if low.is_day:
            return _condition(name, "BETWEEN", value=str(low.first), highValue=str(low.last))
        case "NEQ" | "NOT_IN" if low.is_day:
            raise ValueError("HubSpot cannot exclude one day; search before it with LT and after it with GT")
        case operator:
            return _condition(name, ALONE.get(operator, operator), value=str(low.first))


def _span_of(one: Filter) -> Span:
    if one.operator not in LISTS:
        return span(one.value)
    if len(one.values) > 1:
        raise ValueError("dates cannot be compared with lists; use BETWEEN, or search for each date")
    return span(one.values[0])

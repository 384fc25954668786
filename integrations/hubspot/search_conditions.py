"""Translation of filters into the conditions of HubSpot's search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from integrations.hubspot.lookup import Lookup
from integrations.hubspot.parsing import Span, span
from integrations.hubspot.properties import Properties, Property
from integrations.hubspot.record_kinds import ASSOCIATED, DEALS, PIPELINE, STAGE, Kind
from integrations.hubspot.search_params import Filter
from integrations.json_object import Json
from integrations.service_client import ToolFailed

LIST_OPERATORS = {"EQ": "IN", "NEQ": "NOT_IN"}
"""The operator for several values, by the operator for one value."""
SINGLE_OPERATORS = {several: single for single, several in LIST_OPERATORS.items()}
LISTS = frozenset(SINGLE_OPERATORS)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class ConditionBuilder:
    kind: Kind
    properties: Properties
    lookup: Lookup

    async def build(self, filter_: Filter) -> Json:
        property_ = await self.properties.find(filter_.property_name)
        match filter_.operator:
            case "HAS_PROPERTY" | "NOT_HAS_PROPERTY":
                return _condition(property_.name, filter_.operator)
            case "CONTAINS_TOKEN" | "NOT_CONTAINS_TOKEN":
                return _condition(property_.name, filter_.operator, value=filter_.value)
        try:
            return (
                _time_condition(property_.name, filter_)
                if property_.type in ("date", "datetime")
                else await self._build_for(property_, filter_)
            )
        except ValueError as error:
            raise ToolFailed("invalid_arguments", f"The filter on `{property_.name}`: {error}.") from error

    async def _build_for(self, property_: Property, filter_: Filter) -> Json:
        match filter_.operator:
            case "EQ" | "NEQ" | "IN" | "NOT_IN":
                texts = filter_.values if filter_.operator in LISTS else [filter_.value]
                values = [value for text in texts for value in await self._values(property_, text)]
                return among(
                    property_.name, filter_.operator, _lower_case_in_lists(property_, filter_.operator, values)
                )
            case "BETWEEN":
                return _condition(
                    property_.name,
                    filter_.operator,
                    value=_number(property_, filter_.value),
                    highValue=_number(property_, filter_.high_value),
                )
            case _:
                return _condition(property_.name, filter_.operator, value=_number(property_, filter_.value))

    async def _values(self, property_: Property, text: str) -> list[str]:
        if property_.is_owner:
            return [await self.lookup.owner(text)]
        if self.kind is DEALS and property_.name == STAGE:
            return await self.lookup.stages(text, [])
        if self.kind is DEALS and property_.name == PIPELINE:
            return await self.lookup.pipelines(text)
        return [_number(property_, property_.value_of(text))]


def among(name: str, operator: str, values: Iterable[str]) -> Json:
    """The condition that a property has, or does not have, one of the values."""
    unique_values = list(dict.fromkeys(values))
    if operator in LISTS or len(unique_values) > 1:
        return _condition(name, LIST_OPERATORS.get(operator, operator), values=unique_values)
    return _condition(name, operator, value=unique_values[0])


def belongs_to(kind: Kind, record_id: str) -> Json:
    """The condition for an association, which only searches treat as a property."""
    return _condition(f"{ASSOCIATED}{kind.singular}", "EQ", value=record_id)


def _condition(name: str, operator: str, **values: object) -> Json:
    return {"propertyName": name, "operator": operator, **values}


def _lower_case_in_lists(property_: Property, operator: str, values: list[str]) -> list[str]:
    """HubSpot compares texts in lists only in lower case."""
    return [value.lower() for value in values] if property_.type == "string" and operator in LISTS else values


def _number(property_: Property, text: str) -> str:
    if property_.type == "number" and not _NUMBER.fullmatch(text):
        raise ValueError(f"“{text}” is not a number: write it as 1234.5")
    return text


def _time_condition(name: str, filter_: Filter) -> Json:
    """HubSpot compares milliseconds; a day means all milliseconds of that day."""
    low, high = _span_of(filter_), span(filter_.high_value) if filter_.high_value else None
    match filter_.operator:
        case "BETWEEN" if high:
            return _condition(name, "BETWEEN", value=str(low.first), highValue=str(high.last))
        case "GT" | "LTE":
            return _condition(name, filter_.operator, value=str(low.last))
        case "LT" | "GTE":
            return _condition(name, filter_.operator, value=str(low.first))
        case "EQ" | "IN" if low.is_day:
            return _condition(name, "BETWEEN", value=str(low.first), highValue=str(low.last))
        case "NEQ" | "NOT_IN" if low.is_day:
            raise ValueError("HubSpot cannot exclude one day; search before it with LT and after it with GT")
        case operator:
            return _condition(name, SINGLE_OPERATORS.get(operator, operator), value=str(low.first))


def _span_of(filter_: Filter) -> Span:
    if filter_.operator not in LISTS:
        return span(filter_.value)
    if len(filter_.values) > 1:
        raise ValueError("dates cannot be compared with lists; use BETWEEN, or search for each date")
    return span(filter_.values[0])

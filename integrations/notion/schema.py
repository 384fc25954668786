"""The properties of a database: lookup by name, and conversion of values to Notion's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from integrations.json_object import Json
from integrations.notion.parsing import page_id
from integrations.notion.property_values import FindPerson, InvalidValue, quote, to_notion
from integrations.service_client import ToolFailed
from integrations.text import one_line

MOST_OPTIONS = 30
MOST_NAMED = 60
MOST_PROPERTIES = 1000
"""Twice the number that a database can have."""
MOST_PROBLEMS = 8
_GROUPS = ("select", "multi_select", "status")


@dataclass(frozen=True)
class PropertyDefinition:
    name: str
    kind: str
    id: str = ""
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        options = f": {self.all_options}" if self.options else ""
        return f"{one_line(self.name)} ({self.kind}{options})"

    @property
    def all_options(self) -> str:
        more = ", …" if len(self.options) > MOST_OPTIONS else ""
        return f"{', '.join(map(one_line, self.options[:MOST_OPTIONS]))}{more}"


@dataclass(frozen=True)
class PropertySchema:
    properties: tuple[PropertyDefinition, ...]

    @classmethod
    def of(cls, properties: Mapping[str, Json]) -> PropertySchema:
        """The schema of a data source, or of a page, which has no options."""
        return cls(
            tuple(_property(name, definition) for name, definition in islice(properties.items(), MOST_PROPERTIES))
        )

    def find(self, name: str) -> PropertyDefinition:
        if definition := self.find_or_none(name):
            return definition
        raise InvalidValue(f"this property does not exist. Properties: {self}")

    def find_or_none(self, name: str) -> PropertyDefinition | None:
        """Find a property by name, regardless of case too, or by id; `title` always finds the title property."""
        plain = name.strip().lower()
        is_title = plain in ("title", "name")
        candidates = (
            [definition for definition in self.properties if definition.name == name],
            [definition for definition in self.properties if definition.name.strip().lower() == plain],
            [definition for definition in self.properties if definition.id == name],
            [definition for definition in self.properties if definition.kind == "title" and is_title],
        )
        return next((matches[0] for matches in candidates if matches), None)

    def names(self, names: Sequence[str]) -> list[str]:
        definitions = {name: self.find_or_none(name) for name in names}
        if unknown := [name for name, definition in definitions.items() if definition is None]:
            raise ToolFailed("invalid_arguments", f"These properties cannot be returned. {self._unknown(unknown)}")
        return [definition.name for definition in definitions.values() if definition]

    def to_notion_values(self, values: Mapping[str, Any], who: FindPerson = page_id) -> Json:
        """The values in Notion's form, by the names of the properties."""
        converted: Json = {}
        problems, unknown = list[str](), list[str]()
        for name, value in values.items():
            definition = self.find_or_none(name)
            if definition is None:
                unknown.append(name)
            elif definition.name in converted:
                problems.append(f"`{quote(name)}`: `{one_line(definition.name)}` is already set.")
            else:
                converted[definition.name] = {}
                try:
                    converted[definition.name] = _known_options(definition, to_notion(definition.kind, value, who))
                except InvalidValue as invalid:
                    problems.append(f"`{quote(name)}`: {invalid}.")
        if problems or unknown:
            raise ToolFailed(
                "invalid_arguments", f"These properties are not valid. {self._sentences(problems, unknown)}"
            )
        return converted

    def _sentences(self, problems: Sequence[str], unknown: Sequence[str]) -> str:
        more = len(problems) - MOST_PROBLEMS
        rest = [f"{more} more problems were found."] if more > 0 else []
        return " ".join([*problems[:MOST_PROBLEMS], *rest, *([self._unknown(unknown)] if unknown else [])])

    def _unknown(self, names: Sequence[str]) -> str:
        """The existing properties are listed once for all unknown names."""
        listed = ", ".join(f"`{one_line(quote(name))}`" for name in names[:MOST_PROBLEMS])
        more = f" and {len(names) - MOST_PROBLEMS} more" if len(names) > MOST_PROBLEMS else ""
        predicate = "these properties do not exist" if len(names) > 1 else "this property does not exist"
        return f"{listed}{more}: {predicate}. Properties: {self}."

    def new_options(self, values: Json) -> list[str]:
        """Options that Notion will add for these values."""
        options_by_name = {definition.name: definition.options for definition in self.properties if definition.options}
        return [
            f"`{one_line(name)}` has a new option: {one_line(option)}."
            for name in values
            if name in options_by_name
            for option in _option_names(values[name])
            if option not in options_by_name[name]
        ]

    @property
    def title(self) -> str:
        return next((definition.name for definition in self.properties if definition.kind == "title"), "title")

    def __str__(self) -> str:
        shown = "; ".join(str(definition) for definition in self.properties[:MOST_NAMED])
        return f"{shown}; …" if len(self.properties) > MOST_NAMED else shown


def _option_names(values: Json) -> list[str]:
    """The names of the chosen options."""
    options = [option for value in values.values() for option in (value if isinstance(value, list) else [value])]
    return [option["name"] for option in options if isinstance(option, dict) and isinstance(option.get("name"), str)]


def _known_options(definition: PropertyDefinition, value: Json) -> Json:
    """Use the spelling of existing options. Notion adds new options to a select, but not to a status."""
    chosen = value.get(definition.kind)
    if definition.kind not in _GROUPS or not definition.options or not chosen:
        return value
    if isinstance(chosen, list):
        return {**value, definition.kind: [_existing_option(definition, option) for option in chosen]}
    return {**value, definition.kind: _existing_option(definition, chosen)}


def _existing_option(definition: PropertyDefinition, option: Json) -> Json:
    name = str(option.get("name", ""))
    if not name or name in definition.options:
        return option
    matches = [option for option in definition.options if option.lower() == name.lower()]
    if not matches and definition.kind == "status":
        raise InvalidValue(f"must be one of {definition.all_options}")
    return {**option, "name": matches[0]} if matches else option


def _property(name: str, definition: Json) -> PropertyDefinition:
    kind = str(definition.get("type"))
    settings = definition.get(kind)
    options = settings.get("options") if kind in _GROUPS and isinstance(settings, dict) else None
    return PropertyDefinition(
        name, kind, str(definition.get("id", "")), tuple(str(option.get("name")) for option in options or ())
    )

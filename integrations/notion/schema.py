"""The properties of a database: lookup by name, and values in Notion's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from integrations.json_object import Json
from integrations.notion.parsing import page_id
from integrations.notion.property_values import FindPerson, InvalidValue, quoted, to_notion
from integrations.service_client import ToolFailed
from integrations.text import one_line

MOST_OPTIONS = 30
MOST_NAMED = 60
MOST_PROPERTIES = 1000
"""Twice as many as a database can have."""
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
        """Of a data source, or of a page, which has no options."""
        return cls(
            tuple(_property(name, definition) for name, definition in islice(properties.items(), MOST_PROPERTIES))
        )

    def find(self, name: str) -> PropertyDefinition:
        if found := self.sought(name):
            return found
        raise InvalidValue(f"this property does not exist. Properties: {self}")

    def sought(self, name: str) -> PropertyDefinition | None:
        """By name, by name without regard to case, by id; `title` stands for the title whatever its name."""
        plain = name.strip().lower()
        is_title = plain in ("title", "name")
        fitting = (
            [property_ for property_ in self.properties if property_.name == name],
            [property_ for property_ in self.properties if property_.name.strip().lower() == plain],
            [property_ for property_ in self.properties if property_.id == name],
            [property_ for property_ in self.properties if property_.kind == "title" and is_title],
        )
        return next((found[0] for found in fitting if found), None)

    def names(self, asked: Sequence[str]) -> list[str]:
        found = {name: self.sought(name) for name in asked}
        if unknown := [name for name, value in found.items() if value is None]:
            raise ToolFailed("invalid_arguments", f"These properties cannot be returned. {self._unknown(unknown)}")
        return [definition.name for definition in found.values() if definition]

    def fitted(self, given: Mapping[str, Any], who: FindPerson = page_id) -> Json:
        """Values in Notion's form, by Notion's names."""
        made: Json = {}
        problems, unknown = list[str](), list[str]()
        for name, value in given.items():
            found = self.sought(name)
            if found is None:
                unknown.append(name)
            elif found.name in made:
                problems.append(f"`{quoted(name)}`: `{one_line(found.name)}` is already set.")
            else:
                made[found.name] = {}
                try:
                    made[found.name] = _known_options(found, to_notion(found.kind, value, who))
                except InvalidValue as unfit:
                    problems.append(f"`{quoted(name)}`: {unfit}.")
        if problems or unknown:
            raise ToolFailed(
                "invalid_arguments", f"These properties are not valid. {self._sentences(problems, unknown)}"
            )
        return made

    def _sentences(self, problems: Sequence[str], unknown: Sequence[str]) -> str:
        more = len(problems) - MOST_PROBLEMS
        counted = [f"{more} more problems were found."] if more > 0 else []
        return " ".join([*problems[:MOST_PROBLEMS], *counted, *([self._unknown(unknown)] if unknown else [])])

    def _unknown(self, names: Sequence[str]) -> str:
        """The existing properties are listed once for all unknown names."""
        named = ", ".join(f"`{one_line(quoted(name))}`" for name in names[:MOST_PROBLEMS])
        more = f" and {len(names) - MOST_PROBLEMS} more" if len(names) > MOST_PROBLEMS else ""
        are_none = "these properties do not exist" if len(names) > 1 else "this property does not exist"
        return f"{named}{more}: {are_none}. Properties: {self}."

    def new_options(self, made: Json) -> list[str]:
        """Options that Notion will add for these values."""
        known = {property_.name: property_.options for property_ in self.properties if property_.options}
        return [
            f"`{one_line(name)}` has a new option: {one_line(option)}."
            for name in made
            if name in known
            for option in _names(made[name])
            if option not in known[name]
        ]

    @property
    def title(self) -> str:
        return next((property_.name for property_ in self.properties if property_.kind == "title"), "title")

    def __str__(self) -> str:
        shown = "; ".join(str(property_) for property_ in self.properties[:MOST_NAMED])
        return f"{shown}; …" if len(self.properties) > MOST_NAMED else shown


def _names(made: Json) -> list[str]:
    """The names of the chosen options."""
    chosen = [word for value in made.values() for word in (value if isinstance(value, list) else [value])]
    return [option["name"] for option in chosen if isinstance(option, dict) and isinstance(option.get("name"), str)]


def _known_options(of: PropertyDefinition, made: Json) -> Json:
    """`done` is the option Done. Notion adds new options to a select, but not to a status."""
    chosen = made.get(of.kind)
    if of.kind not in _GROUPS or not of.options or not chosen:
        return made
    if isinstance(chosen, list):
        return {**made, of.kind: [_known(of, option) for option in chosen]}
    return {**made, of.kind: _known(of, chosen)}


def _known(of: PropertyDefinition, option: Json) -> Json:
    name = str(option.get("name", ""))
    if not name or name in of.options:
        return option
    alike = [option for option in of.options if option.lower() == name.lower()]
    if not alike and of.kind == "status":
        raise InvalidValue(f"must be one of {of.all_options}")
    return {**option, "name": alike[0]} if alike else option


def _property(name: str, found: Json) -> PropertyDefinition:
    kind = str(found.get("type"))
    inside = found.get(kind)
    options = inside.get("options") if kind in _GROUPS and isinstance(inside, dict) else None
    return PropertyDefinition(
        name, kind, str(found.get("id", "")), tuple(str(option.get("name")) for option in options or ())
    )

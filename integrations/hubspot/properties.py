"""The properties of a kind of record: lookup by name or label, and their accepted values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from integrations.hubspot.client import HubSpotApi
from integrations.hubspot.record_kinds import ASSOCIATED, OWNER, Kind
from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.similar_names import MAX_COMPARED, bare_name, similar_names
from integrations.text import objects, one_line

MOST_CHOSEN = 100
MOST_NEAR = 3
MOST_TOLD = 30
MOST_READ = 5_000
"""The maximum of definitions that are read; accounts have fewer."""


@dataclass(frozen=True)
class Property:
    name: str
    type: str = ""
    """`string`, `number`, `date`, `datetime`, `enumeration` or `bool`; empty if unknown."""

    label: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Labels by value; empty if any value is accepted."""

    is_owner: bool = False

    def value_of(self, given: str) -> str:
        """The value for a label, or the values for labels separated by `;`."""
        if not self.choices:
            return given
        several = list(dict.fromkeys(given.split(";")))
        if len(several) > MOST_CHOSEN:
            raise ToolFailed("invalid_arguments", f"`{self.name}` accepts at most {MOST_CHOSEN} values.")
        return ";".join(map(self._choice, several))

    def _choice(self, given: str) -> str:
        if given in self.choices:
            return given
        found = self._spelt.get(bare_name(given), set())
        if len(found) != 1:
            raise ToolFailed("invalid_arguments", f"“{given}” is not a value of `{self.name}`. {self._told(given)}")
        return next(iter(found))

    @cached_property
    def _spelt(self) -> Mapping[str, set[str]]:
        """Values by the normalized forms of their labels and of themselves."""
        found: dict[str, set[str]] = {}
        for value, label in self.choices.items():
            for word in (value, label):
                found.setdefault(bare_name(word), set()).add(value)
        return found

    def _told(self, given: str) -> str:
        if len(self.choices) <= MOST_TOLD:
            return f"It accepts: {_listed(self.choices)}."
        near = {
            *similar_names(given, self.choices, limit=MOST_NEAR),
            *similar_names(given, self.choices.values(), limit=MOST_NEAR),
        }
        alike = {value: label for value, label in self.choices.items() if value in near or label in near}
        return f"Similar values: {_listed(alike)}." if alike else f"It accepts one of {len(self.choices)} other values."


class Properties:
    """Properties of one kind, for one call; read from HubSpot only if the built-in ones do not suffice."""

    def __init__(self, api: HubSpotApi, kind: Kind) -> None:
        self._api, self._kind = api, kind
        self._read: Mapping[str, Property] | None = None

    async def called(self, given: str) -> Property:
        """The property with this name or label."""
        name = given.lower()
        if name.startswith(ASSOCIATED):
            return Property(name)
        if name in self._kind.types:
            return Property(name, self._kind.types[name], is_owner=name == OWNER)
        there = await self.all()
        if name in there or not there:
            return there.get(name) or Property(name)
        alike = [
            definition
            for definition in there.values()
            if bare_name(given) in (bare_name(definition.name), bare_name(definition.label))
        ]
        if len(alike) != 1:
            told = f"{no_property(self._kind, given, there.values())} {where_names_are(self._kind)}"
            raise ToolFailed("invalid_arguments", told)
        return alike[0]

    async def all(self) -> Mapping[str, Property]:
        """All properties by name."""
        if self._read is None:
            body: Json = await self._api.get(self._kind.definitions)
            self._read = {
                definition.name: definition for definition in map(_property, objects(body.get("results"))[:MOST_READ])
            }
        return self._read


def no_property(kind: Kind, given: str, there: Iterable[Property]) -> str:
    """The text for an unknown property, with similar ones."""
    first = list(islice(there, MAX_COMPARED // 2))
    names = {bare_name(definition.label): definition.name for definition in first}
    names |= {bare_name(definition.name): definition.name for definition in first}
    near = " or ".join(
        f"`{name}`"
        for name in dict.fromkeys(names[name] for name in similar_names(bare_name(given), names, limit=MOST_NEAR))
    )
    return f"There is no property `{given}` of {kind.many}.{f' Did you mean {near}?' if near else ''}"


def where_names_are(kind: Kind) -> str:
    return f"`hubspot_get_{kind.one}` with `full: true` shows the names of all properties that have a value."


def _listed(choices: Mapping[str, str]) -> str:
    return ", ".join(value if value == label else f"{value} ({label})" for value, label in choices.items())


def _property(found: Json) -> Property:
    name, options = one_line(str(found.get("name"))), objects(found.get("options"))
    return Property(
        name,
        str(found.get("type") or ""),
        one_line(str(found.get("label") or "")),
        {str(option.get("value")): one_line(str(option.get("label") or option.get("value"))) for option in options},
        is_owner=name == OWNER or found.get("referencedObjectType") == "OWNER",
    )

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

MAX_CHOSEN = 100
MAX_SIMILAR = 3
MAX_LISTED = 30
MAX_READ = 5_000
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

    def value_of(self, text: str) -> str:
        """The value for a label, or the values for labels separated by `;`."""
        if not self.choices:
            return text
        labels = list(dict.fromkeys(text.split(";")))
        if len(labels) > MAX_CHOSEN:
            raise ToolFailed("invalid_arguments", f"`{self.name}` accepts at most {MAX_CHOSEN} values.")
        return ";".join(map(self._choice, labels))

    def _choice(self, label: str) -> str:
        if label in self.choices:
            return label
        values = self._values_by_spelling.get(bare_name(label), set())
        if len(values) != 1:
            raise ToolFailed(
                "invalid_arguments", f"“{label}” is not a value of `{self.name}`. {self._choice_hint(label)}"
            )
        return next(iter(values))

    @cached_property
    def _values_by_spelling(self) -> Mapping[str, set[str]]:
        """Values by the normalized forms of their labels and of themselves."""
        by_spelling: dict[str, set[str]] = {}
        for value, label in self.choices.items():
            for word in (value, label):
                by_spelling.setdefault(bare_name(word), set()).add(value)
        return by_spelling

    def _choice_hint(self, text: str) -> str:
        if len(self.choices) <= MAX_LISTED:
            return f"It accepts: {_choice_list(self.choices)}."
        near = {
            *similar_names(text, self.choices, limit=MAX_SIMILAR),
            *similar_names(text, self.choices.values(), limit=MAX_SIMILAR),
        }
        similar_choices = {value: label for value, label in self.choices.items() if value in near or label in near}
        return (
            f"Similar values: {_choice_list(similar_choices)}."
            if similar_choices
            else f"It accepts one of {len(self.choices)} other values."
        )


class Properties:
    """Properties of one kind, for one call; read from HubSpot only if the built-in ones do not suffice."""

    def __init__(self, api: HubSpotApi, kind: Kind) -> None:
        self._api, self._kind = api, kind
        self._read: Mapping[str, Property] | None = None

    async def find(self, text: str) -> Property:
        """The property with this name or label."""
        name = text.lower()
        if name.startswith(ASSOCIATED):
            return Property(name)
        if name in self._kind.types:
            return Property(name, self._kind.types[name], is_owner=name == OWNER)
        existing = await self.all()
        if name in existing or not existing:
            return existing.get(name) or Property(name)
        matches = [
            definition
            for definition in existing.values()
            if bare_name(text) in (bare_name(definition.name), bare_name(definition.label))
        ]
        if len(matches) != 1:
            message = f"{unknown_property_text(self._kind, text, existing.values())} {name_hint(self._kind)}"
            raise ToolFailed("invalid_arguments", message)
        return matches[0]

    async def all(self) -> Mapping[str, Property]:
        """All properties by name."""
        if self._read is None:
            body: Json = await self._api.get(self._kind.definitions)
            self._read = {
                definition.name: definition for definition in map(_property, objects(body.get("results"))[:MAX_READ])
            }
        return self._read


def unknown_property_text(kind: Kind, given: str, properties: Iterable[Property]) -> str:
    """The text for an unknown property, with similar ones."""
    compared = list(islice(properties, MAX_COMPARED // 2))
    names = {bare_name(definition.label): definition.name for definition in compared}
    names |= {bare_name(definition.name): definition.name for definition in compared}
    alike = similar_names(bare_name(given), names, limit=MAX_SIMILAR)
    similar = " or ".join(dict.fromkeys(f"`{names[name]}`" for name in alike))
    return f"There is no property `{given}` of {kind.plural}.{f' Did you mean {similar}?' if similar else ''}"


def name_hint(kind: Kind) -> str:
    return f"`hubspot_get_{kind.singular}` with `full: true` shows the names of all properties that have a value."


def _choice_list(choices: Mapping[str, str]) -> str:
    return ", ".join(value if value == label else f"{value} ({label})" for value, label in choices.items())


def _property(definition: Json) -> Property:
    name, options = one_line(str(definition.get("name"))), objects(definition.get("options"))
    return Property(
        name,
        str(definition.get("type") or ""),
        one_line(str(definition.get("label") or "")),
        {str(option.get("value")): one_line(str(option.get("label") or option.get("value"))) for option in options},
        is_owner=name == OWNER or definition.get("referencedObjectType") == "OWNER",
    )

"""How does a record as HubSpot sends it become one that a model reads?"""

from __future__ import annotations

from integrations.hubspot.labels import Meanings, Names, properties_of, results, said
from integrations.hubspot.object_types import Kind
from integrations.hubspot.results import ALONE, IN_A_LIST, ROOM, Record
from integrations.json_object import Json
from integrations.text import shortened

MOST_ASSOCIATED = 50
BESIDE = 100
"""Characters of a record beside its values: when it was made, and what joins all this."""


async def read_many(names: Names, kind: Kind, objects: list[Json], chosen: list[str]) -> list[Record]:
    records = await _read(names, kind, objects, tuple(chosen or kind.shown), IN_A_LIST)
    await names.unknown(kind, objects, chosen)
    return records


async def read_one(names: Names, kind: Kind, found: Json, chosen: list[str], *, full: bool) -> Record:
    """`full`: whatever it has."""
    shown = tuple(sorted(properties_of(found))) if full else tuple(chosen or kind.shown)
    (record,) = await _read(names, kind, [found], shown, ALONE)
    await names.unknown(kind, [found], chosen)
    associations = _associations(names, kind, found)
    return record.model_copy(update={"associations": associations, "notes": names.notes})


async def _read(
    names: Names, kind: Kind, objects: list[Json], shown: tuple[str, ...], limits: tuple[int, ...]
) -> list[Record]:
    """With values as long as there is room for."""
    meanings, beginning = await names.meanings(objects, shown), await names.url(kind, objects)
    whole = [_record(kind, each, shown, meanings, beginning) for each in objects]
    for limit in limits:
        records = [_cut(each, limit) for each in whole]
        if sum(map(_length, records)) <= ROOM:
            break
    if records != whole:
        names.notes.append(_cut_note(kind, limit))
    return records


def _record(kind: Kind, found: Json, shown: tuple[str, ...], meanings: Meanings, beginning: str) -> Record:
    number, there = said(found.get("id")), properties_of(found)
    properties = {name: there[name] for name in shown if name in there}
    return Record(
        kind=kind.one,
        id=number,
        name=said(kind.name(there)) or f"(without a name, {number})",
        url=said(found.get("url")) or (f"{beginning}{number}" if beginning else None),
        properties=properties,
        names={name: told for name, value in properties.items() if (told := meanings.get(name, {}).get(value))},
        archived=True if found.get("archived") else None,
        created_at=said(found.get("createdAt")) or None,
        updated_at=said(found.get("updatedAt")) or None,
    )


def _length(record: Record) -> int:
    values = sum(len(name) + len(value) for name, value in record.properties.items())
    return values + len(record.name) + len(record.url or "") + BESIDE


def _cut(record: Record, limit: int) -> Record:
    cut = {name: shortened(value, limit) for name, value in record.properties.items()}
    return record.model_copy(update={"properties": cut})


def _associations(names: Names, kind: Kind, found: Json) -> dict[str, list[str]]:
    """By kind. HubSpot says the same record again for each way in which it is associated."""
    told, read = found.get("associations") or {}, dict[str, list[str]]()
    for many in kind.related:
        page = told.get(many) or {}
        ids = list(dict.fromkeys(said(each.get("id")) for each in results(page)))
        read[many] = ids[:MOST_ASSOCIATED]
        if len(ids) > MOST_ASSOCIATED or page.get("paging"):
            names.notes.append(
                f"These are the first {MOST_ASSOCIATED} of its {many}: "
                f"`hubspot_search_{many}` with `{kind.one}Id: {found['id']}` lists all, page by page."
            )
    return read


def _cut_note(kind: Kind, limit: int) -> str:
    more = f"`hubspot_get_{kind.one}` with only that one in `properties` reads {ALONE[0]:,} of them"
    where = "HubSpot shows the rest" if limit == ALONE[0] else more
    return f"Values of more than {limit:,} characters are cut, as the … at their end tells; {where}."

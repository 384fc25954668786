"""Listing, reading and searching records of any type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, starmap
from urllib.parse import quote

from integrations.hubspot.client import NOT_THERE, HubSpotApi
from integrations.hubspot.filter_params import MAX_FILTERS, sorts
from integrations.hubspot.filters import Conditions, among, belongs_to
from integrations.hubspot.labels import Meanings, Names, next_cursor, properties_of, results, said
from integrations.hubspot.lookup import Meant
from integrations.hubspot.params import REACHABLE, One, Page, Search
from integrations.hubspot.properties import Properties
from integrations.hubspot.record_kinds import OWNER, Kind
from integrations.hubspot.results import ALONE, IN_A_LIST, ROOM, CrmRecord, Records
from integrations.json_object import Json
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import shortened

LONGEST_LIST = 1_200
"""The maximum length of property names in one URL, which may have 2,048 characters."""
LESS = "Use a smaller `limit`, or fewer `properties`."
MANY = "These are too many `properties` for a list. Name fewer, or use `hubspot_search_{}`, which accepts more."
NOT_FOUND_YET = "Records created in the last two minutes may be missing; `hubspot_list_{}` includes them."
WHERE_WORDS_ARE = "`query` matches the beginning of words in {}."


async def listed(api: HubSpotApi, kind: Kind, ask: Page) -> Records:
    names, *more = _in_urls(kind.wanted(ask.properties))
    if more:
        raise ToolFailed("invalid_arguments", MANY.format(kind.many))
    query = {
        "limit": ask.limit,
        "after": ask.after or None,
        "properties": names,
        "archived": ask.archived or None,
    }
    with too_large_hint(LESS):
        body = await api.get(kind.path, query)
    return await _told(api, kind, body, ask)


async def searched(
    api: HubSpotApi, kind: Kind, ask: Search, belongings: Mapping[Kind, str], placed: Sequence[Json] = ()
) -> Records:
    """`belongings` are associated records by kind; `placed` are conditions that only some searches have."""
    given = {one: number for one, number in belongings.items() if number}
    _few_enough(len(ask.filters) + len(placed) + len(given) + bool(ask.owner))
    meant, properties, place = Meant(api), Properties(api, kind), int(ask.after or 0)
    with too_large_hint(LESS):
        conditions = Conditions(kind, properties, meant)
        ids = {one: await meant.record(one, number) for one, number in given.items()}
        filters = [
            *[await conditions.of(condition) for condition in ask.filters],
            *placed,
            *starmap(belongs_to, ids.items()),
        ]
        filters += [among(OWNER, "EQ", [await meant.owner(ask.owner)])] if ask.owner else []
        body = {
            "query": ask.query,
            "limit": min(ask.limit, REACHABLE - place),
            "after": ask.after,
            "properties": list(kind.wanted(ask.properties)),
            "filterGroups": [{"filters": filters}] if filters else [],
            "sorts": await _sorts(properties, ask.sort),
        }
        sent = {name: value for name, value in body.items() if value}
        found = await api.request("POST", f"{kind.path}/search", body=sent, reads=True)
    for one, number in {} if found.get("total") else ids.items():
        await meant.there(one, number)
    return _bounded(await _told(api, kind, found, ask), place, kind, ask)


def _few_enough(count: int) -> None:
    if count > MAX_FILTERS:
        raise ToolFailed("invalid_arguments", f"HubSpot accepts at most {MAX_FILTERS} conditions; these are {count}.")


async def _sorts(properties: Properties, order: str) -> list[Json]:
    return sorts((await properties.called(order.removeprefix("-"))).name, order) if order else []


async def read(api: HubSpotApi, kind: Kind, record_id: str, ask: One) -> CrmRecord:
    """Read one record; the `record_id` of a contact may also be an email address."""
    try:
        with too_large_hint(_smaller(ask)):
            parts = await _parts(api, kind, record_id, ask)
    except ToolFailed as failed:
        if failed.text != NOT_THERE:
            raise
        raise ToolFailed("upstream_refused", _absent(kind, record_id, ask)) from failed
    properties = dict(chain.from_iterable((part.get("properties") or {}).items() for part in parts))
    beside = Names(api)
    return await read_one(beside, kind, parts[0] | {"properties": properties}, ask.properties, full=ask.full)


async def _parts(api: HubSpotApi, kind: Kind, record_id: str, ask: One) -> list[Json]:
    """The same record several times, each with as many properties as a URL can hold."""
    names = await _all_names(api, kind) if ask.full else kind.wanted(ask.properties)
    query = {
        "associations": ",".join(kind.related),
        "archived": ask.archived or None,
        "idProperty": "email" if "@" in record_id else None,
    }
    path = f"{kind.path}/{quote(record_id, safe='')}"
    return [await api.get(path, {**query, "properties": name}) for name in _in_urls(names)]


async def _told(api: HubSpotApi, kind: Kind, body: Json, ask: Page | Search) -> Records:
    names, total = Names(api), body.get("total")
    records = await read_many(names, kind, results(body)[: ask.limit], ask.properties)
    total = total if isinstance(total, int) else None
    return Records(records=records, total=total, next_cursor=next_cursor(body), notes=names.notes)


def _bounded(records: Records, place: int, kind: Kind, ask: Search) -> Records:
    """Remove the cursor at the end of what HubSpot returns, and add notes."""
    if not records.total:
        words = [WHERE_WORDS_ARE.format(kind.looked_at)] if ask.query else []
        return records.model_copy(update={"notes": [*records.notes, *words, NOT_FOUND_YET.format(kind.many)]})
    if not records.next_cursor or place + len(records.records) < REACHABLE:
        return records
    note = (
        f"HubSpot returns no more than {REACHABLE:,} results of one search. For the rest, sort by `hs_object_id` and "
        f"search again with the filter `hs_object_id GT` and the last id that you have."
    )
    return records.model_copy(update={"next_cursor": None, "notes": [*records.notes, note]})


def _smaller(ask: One) -> str:
    if ask.full:
        return "Leave out `full`, and name only the `properties` that you need."
    return "Name fewer `properties`." if ask.properties else "Name only the `properties` that you need."


async def _all_names(api: HubSpotApi, kind: Kind) -> tuple[str, ...]:
    return tuple(await Properties(api, kind).all())


def _in_urls(names: tuple[str, ...]) -> Iterator[str]:
    batch: list[str] = []
    for name in names:
        if batch and sum(map(len, batch)) + 3 * len(batch) + len(name) > LONGEST_LIST:
            yield ",".join(batch)
            batch = []
        batch.append(name)
    yield ",".join(batch)


def _absent(kind: Kind, record_id: str, ask: One) -> str:
    there = f"HubSpot has no {'deleted ' if ask.archived else ''}{kind.one} {record_id}."
    also = "" if ask.archived else " `archived: true` reads deleted ones."
    return f"{there}{also} `hubspot_search_{kind.many}` finds {kind.many} by name."


MOST_ASSOCIATED = 50
BESIDE = 100
"""The approximate length of dates and separators in the text of a record."""


async def read_many(names: Names, kind: Kind, objects: list[Json], chosen: list[str]) -> list[CrmRecord]:
    records = await _read(names, kind, objects, tuple(chosen or kind.shown), IN_A_LIST)
    await names.unknown(kind, objects, chosen)
    return records


async def read_one(names: Names, kind: Kind, found: Json, chosen: list[str], *, full: bool) -> CrmRecord:
    """`full` shows every property that has a value."""
    shown = tuple(sorted(properties_of(found))) if full else tuple(chosen or kind.shown)
    (record,) = await _read(names, kind, [found], shown, ALONE)
    await names.unknown(kind, [found], chosen)
    associations = _associations(names, kind, found)
    return record.model_copy(update={"associations": associations, "notes": names.notes})


async def _read(
    names: Names, kind: Kind, objects: list[Json], shown: tuple[str, ...], limits: tuple[int, ...]
) -> list[CrmRecord]:
    """Records with values cut to the first limit that lets all of them fit."""
    meanings, beginning = await names.meanings(objects, shown), await names.url(kind, objects)
    whole = [_record(kind, item, shown, meanings, beginning) for item in objects]
    for limit in limits:
        records = [_cut(record, limit) for record in whole]
        if sum(map(_length, records)) <= ROOM:
            break
    if records != whole:
        names.notes.append(_cut_note(kind, limit))
    return records


def _record(kind: Kind, found: Json, shown: tuple[str, ...], meanings: Meanings, beginning: str) -> CrmRecord:
    number, there = said(found.get("id")), properties_of(found)
    properties = {name: there[name] for name in shown if name in there}
    return CrmRecord(
        kind=kind.one,
        id=number,
        name=said(kind.name(there)) or f"(unnamed, {number})",
        url=said(found.get("url")) or (f"{beginning}{number}" if beginning else None),
        properties=properties,
        names={name: told for name, value in properties.items() if (told := meanings.get(name, {}).get(value))},
        archived=True if found.get("archived") else None,
        created_at=said(found.get("createdAt")) or None,
        updated_at=said(found.get("updatedAt")) or None,
    )


def _length(record: CrmRecord) -> int:
    values = sum(len(name) + len(value) for name, value in record.properties.items())
    return values + len(record.name) + len(record.url or "") + BESIDE


def _cut(record: CrmRecord, limit: int) -> CrmRecord:
    cut = {name: shortened(value, limit) for name, value in record.properties.items()}
    return record.model_copy(update={"properties": cut})


def _associations(names: Names, kind: Kind, found: Json) -> dict[str, list[str]]:
    """Ids by kind, without duplicates: HubSpot repeats a record for each label of an association."""
    told, read = found.get("associations") or {}, dict[str, list[str]]()
    for many in kind.related:
        page = told.get(many) or {}
        ids = list(dict.fromkeys(said(record.get("id")) for record in results(page)))
        read[many] = ids[:MOST_ASSOCIATED]
        if len(ids) > MOST_ASSOCIATED or page.get("paging"):
            names.notes.append(
                f"Only the first {MOST_ASSOCIATED} associated {many} are listed; "
                f"`hubspot_search_{many}` with `{kind.one}Id: {found['id']}` lists all of them, page by page."
            )
    return read


def _cut_note(kind: Kind, limit: int) -> str:
    more = f"`hubspot_get_{kind.one}` with one property in `properties` reads up to {ALONE[0]:,} characters of it"
    where = "the rest can be seen in HubSpot" if limit == ALONE[0] else more
    return f"Values longer than {limit:,} characters are cut and end in …; {where}."

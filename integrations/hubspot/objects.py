"""Listing, reading and searching records of any type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, starmap
from urllib.parse import quote

from integrations.hubspot.client import NOT_FOUND, HubSpotApi
from integrations.hubspot.labels import Meanings, RecordLabels, next_cursor, properties_of, results, short_text
from integrations.hubspot.lookup import Lookup
from integrations.hubspot.params import MAX_REACHABLE, One, Page, Search
from integrations.hubspot.properties import Properties
from integrations.hubspot.record_kinds import OWNER, Kind
from integrations.hubspot.results import ALONE, IN_A_LIST, ROOM, CrmRecord, Records
from integrations.hubspot.search_conditions import ConditionBuilder, among, belongs_to
from integrations.hubspot.search_params import MAX_FILTERS, sorts
from integrations.json_object import Json
from integrations.service_client import ToolFailed, too_large_hint
from integrations.text import shorten

MAX_NAMES_LENGTH = 1_200
"""The maximum length of property names in one URL, which may have 2,048 characters."""
ASK_FOR_LESS = "Use a smaller `limit`, or fewer `properties`."
TOO_MANY = "These are too many `properties` for a list. Name fewer, or use `hubspot_search_{}`, which accepts more."
MAYBE_TOO_NEW = "Records created in the last two minutes may be missing; `hubspot_list_{}` includes them."
SEARCHED_FIELDS = "`query` matches the beginning of words in {}."


async def list_records(api: HubSpotApi, kind: Kind, params: Page) -> Records:
    names, *more = _property_batches(kind.requested_properties(params.properties))
    if more:
        raise ToolFailed("invalid_arguments", TOO_MANY.format(kind.plural))
    query = {
        "limit": params.limit,
        "after": params.after or None,
        "properties": names,
        "archived": params.archived or None,
    }
    with too_large_hint(ASK_FOR_LESS):
        body = await api.get(kind.path, query)
    return await _page(api, kind, body, params)


async def search_records(
    api: HubSpotApi, kind: Kind, params: Search, associated: Mapping[Kind, str], conditions: Sequence[Json] = ()
) -> Records:
    """`associated` are ids of associated records by kind; `conditions` are those of the search tool itself."""
    associated_ids = {other: record_id for other, record_id in associated.items() if record_id}
    _check_count(len(params.filters) + len(conditions) + len(associated_ids) + bool(params.owner))
    lookup, properties, offset = Lookup(api), Properties(api, kind), int(params.after or 0)
    with too_large_hint(ASK_FOR_LESS):
        builder = ConditionBuilder(kind, properties, lookup)
        ids = {other: await lookup.record(other, record_id) for other, record_id in associated_ids.items()}
        requested = [await builder.build(filter_) for filter_ in params.filters]
        filters = [*requested, *conditions, *starmap(belongs_to, ids.items())]
        filters += [among(OWNER, "EQ", [await lookup.owner(params.owner)])] if params.owner else []
        body = {
            "query": params.query,
            "limit": min(params.limit, MAX_REACHABLE - offset),
            "after": params.after,
            "properties": list(kind.requested_properties(params.properties)),
            "filterGroups": [{"filters": filters}] if filters else [],
            "sorts": await _sorts(properties, params.sort),
        }
        set_fields = {name: value for name, value in body.items() if value}
        response = await api.request("POST", f"{kind.path}/search", body=set_fields, reads=True)
    for other, record_id in {} if response.get("total") else ids.items():
        await lookup.require(other, record_id)
    return _limit_reach(await _page(api, kind, response, params), offset, kind, params)


def _check_count(count: int) -> None:
    if count > MAX_FILTERS:
        raise ToolFailed("invalid_arguments", f"HubSpot accepts at most {MAX_FILTERS} conditions; these are {count}.")


async def _sorts(properties: Properties, order: str) -> list[Json]:
    return sorts((await properties.find(order.removeprefix("-"))).name, order) if order else []


async def read(api: HubSpotApi, kind: Kind, record_id: str, params: One) -> CrmRecord:
    """Read one record; the `record_id` of a contact may also be an email address."""
    try:
        with too_large_hint(_advice(params)):
            batches = await _load_parts(api, kind, record_id, params)
    except ToolFailed as failed:
        if failed.text != NOT_FOUND:
            raise
        raise ToolFailed("upstream_refused", _not_found_text(kind, record_id, params)) from failed
    properties = dict(chain.from_iterable((batch.get("properties") or {}).items() for batch in batches))
    labels = RecordLabels(api)
    return await read_one(labels, kind, batches[0] | {"properties": properties}, params.properties, full=params.full)


async def _load_parts(api: HubSpotApi, kind: Kind, record_id: str, params: One) -> list[Json]:
    """The same record several times, each with as many properties as a URL can hold."""
    names = await _all_names(api, kind) if params.full else kind.requested_properties(params.properties)
    query = {
        "associations": ",".join(kind.related),
        "archived": params.archived or None,
        "idProperty": "email" if "@" in record_id else None,
    }
    path = f"{kind.path}/{quote(record_id, safe='')}"
    return [await api.get(path, {**query, "properties": name}) for name in _property_batches(names)]


async def _page(api: HubSpotApi, kind: Kind, body: Json, params: Page | Search) -> Records:
    labels, total = RecordLabels(api), body.get("total")
    records = await read_many(labels, kind, results(body)[: params.limit], params.properties)
    total = total if isinstance(total, int) else None
    return Records(records=records, total=total, next_cursor=next_cursor(body), notes=labels.notes)


def _limit_reach(records: Records, offset: int, kind: Kind, params: Search) -> Records:
    """Remove the cursor at the end of what HubSpot returns, and add notes."""
    if not records.total:
        notes = [SEARCHED_FIELDS.format(kind.searched_fields)] if params.query else []
        return records.model_copy(update={"notes": [*records.notes, *notes, MAYBE_TOO_NEW.format(kind.plural)]})
    if not records.next_cursor or offset + len(records.records) < MAX_REACHABLE:
        return records
    note = (
        f"HubSpot returns no more than {MAX_REACHABLE:,} results of one search. For the rest, sort by `hs_object_id` "
        f"and search again with the filter `hs_object_id GT` and the last id that you have."
    )
    return records.model_copy(update={"next_cursor": None, "notes": [*records.notes, note]})


def _advice(params: One) -> str:
    if params.full:
        return "Leave out `full`, and name only the `properties` that you need."
    return "Name fewer `properties`." if params.properties else "Name only the `properties` that you need."


async def _all_names(api: HubSpotApi, kind: Kind) -> tuple[str, ...]:
    return tuple(await Properties(api, kind).all())


def _property_batches(names: tuple[str, ...]) -> Iterator[str]:
    batch: list[str] = []
    for name in names:
        if batch and sum(map(len, batch)) + 3 * len(batch) + len(name) > MAX_NAMES_LENGTH:
            yield ",".join(batch)
            batch = []
        batch.append(name)
    yield ",".join(batch)


def _not_found_text(kind: Kind, record_id: str, params: One) -> str:
    sentence = f"HubSpot has no {'deleted ' if params.archived else ''}{kind.singular} {record_id}."
    hint = "" if params.archived else " `archived: true` reads deleted ones."
    return f"{sentence}{hint} `hubspot_search_{kind.plural}` finds {kind.plural} by name."


MAX_ASSOCIATED = 50
OVERHEAD = 100
"""The approximate length of dates and separators in the text of a record."""


async def read_many(labels: RecordLabels, kind: Kind, items: list[Json], selected: list[str]) -> list[CrmRecord]:
    records = await _read(labels, kind, items, tuple(selected or kind.shown), IN_A_LIST)
    await labels.report_unknown(kind, items, selected)
    return records


async def read_one(labels: RecordLabels, kind: Kind, item: Json, selected: list[str], *, full: bool) -> CrmRecord:
    """`full` shows every property that has a value."""
    shown = tuple(sorted(properties_of(item))) if full else tuple(selected or kind.shown)
    (record,) = await _read(labels, kind, [item], shown, ALONE)
    await labels.report_unknown(kind, [item], selected)
    associations = _associations(labels, kind, item)
    return record.model_copy(update={"associations": associations, "notes": labels.notes})


async def _read(
    labels: RecordLabels, kind: Kind, items: list[Json], shown: tuple[str, ...], limits: tuple[int, ...]
) -> list[CrmRecord]:
    """Records with values cut to the first limit that lets all of them fit."""
    meanings, url_prefix = await labels.meanings(items, shown), await labels.url_prefix(kind, items)
    full_records = [_record(kind, item, shown, meanings, url_prefix) for item in items]
    for limit in limits:
        records = [_cut(record, limit) for record in full_records]
        if sum(map(_length, records)) <= ROOM:
            break
    if records != full_records:
        labels.notes.append(_cut_note(kind, limit))
    return records


def _record(kind: Kind, item: Json, shown: tuple[str, ...], meanings: Meanings, url_prefix: str) -> CrmRecord:
    record_id, values = short_text(item.get("id")), properties_of(item)
    properties = {name: values[name] for name in shown if name in values}
    return CrmRecord(
        kind=kind.singular,
        id=record_id,
        name=short_text(kind.name(values)) or f"(unnamed, {record_id})",
        url=short_text(item.get("url")) or (f"{url_prefix}{record_id}" if url_prefix else None),
        properties=properties,
        names={name: label for name, value in properties.items() if (label := meanings.get(name, {}).get(value))},
        archived=True if item.get("archived") else None,
        created_at=short_text(item.get("createdAt")) or None,
        updated_at=short_text(item.get("updatedAt")) or None,
    )


def _length(record: CrmRecord) -> int:
    values = sum(len(name) + len(value) for name, value in record.properties.items())
    return values + len(record.name) + len(record.url or "") + OVERHEAD


def _cut(record: CrmRecord, limit: int) -> CrmRecord:
    cut = {name: shorten(value, limit) for name, value in record.properties.items()}
    return record.model_copy(update={"properties": cut})


def _associations(labels: RecordLabels, kind: Kind, item: Json) -> dict[str, list[str]]:
    """Ids by kind, without duplicates: HubSpot repeats a record for each label of an association."""
    connections, ids_by_kind = item.get("associations") or {}, dict[str, list[str]]()
    for plural in kind.related:
        page = connections.get(plural) or {}
        ids = list(dict.fromkeys(short_text(record.get("id")) for record in results(page)))
        ids_by_kind[plural] = ids[:MAX_ASSOCIATED]
        if len(ids) > MAX_ASSOCIATED or page.get("paging"):
            labels.notes.append(
                f"Only the first {MAX_ASSOCIATED} associated {plural} are listed; "
                f"`hubspot_search_{plural}` with `{kind.singular}Id: {item['id']}` lists all of them, page by page."
            )
    return ids_by_kind


def _cut_note(kind: Kind, limit: int) -> str:
    more = f"`hubspot_get_{kind.singular}` with one property in `properties` reads up to {ALONE[0]:,} characters of it"
    where = "the rest can be seen in HubSpot" if limit == ALONE[0] else more
    return f"Values longer than {limit:,} characters are cut and end in …; {where}."

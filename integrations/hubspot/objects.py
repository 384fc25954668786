"""How are records of any kind listed, read and searched for?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from urllib.parse import quote

from integrations.api import ToolFailed, taken_in
from integrations.hubspot.api import NOT_THERE, HubSpotApi
from integrations.hubspot.asking import REACHABLE, One, Page, Search, equals
from integrations.hubspot.filters import MAX_FILTERS, Filter, sorts
from integrations.hubspot.kinds import OWNER, Kind
from integrations.hubspot.names import Names, owner_id, results
from integrations.hubspot.reading import read_many, read_one
from integrations.hubspot.records import Record, Records
from integrations.tool import Json

LONGEST_LIST = 1_200
"""Characters of names of properties in one URL, which has 2,048 at most."""
LESS = "Ask for less at once, by a smaller `limit` or with fewer `properties`."
MANY = "Name fewer, or use hubspot_search_{}, which has room for more."
NOT_FOUND_YET = (
    "A search finds what begins with the words in names, addresses and numbers; what was written in the last two "
    "minutes may not be found yet, but is listed."
)


async def listed(api: HubSpotApi, kind: Kind, ask: Page) -> Records:
    names, *more = _in_urls(kind.wanted(ask.properties))
    if more:
        raise ToolFailed("invalid_arguments", f"Those are too many `properties` for a list. {MANY.format(kind.many)}")
    query = {
        "limit": ask.limit,
        "after": ask.after or None,
        "properties": names,
        "archived": ask.archived or None,
    }
    with taken_in(LESS):
        body = await api.get(kind.path, query)
    return await _told(api, kind, body, ask.properties)


async def searched(api: HubSpotApi, kind: Kind, ask: Search, narrowed: Sequence[Filter]) -> Records:
    """`narrowed`: by more than every search can be."""
    filters = [*ask.filters, *narrowed, *equals(OWNER, await owner_id(api, ask.owner))]
    if len(filters) > MAX_FILTERS:
        raise ToolFailed(
            "invalid_arguments", f"HubSpot takes {MAX_FILTERS} conditions at most; these are {len(filters)}."
        )
    place = int(ask.after or 0)
    body = {
        "query": ask.query,
        "limit": min(ask.limit, REACHABLE - place),
        "after": ask.after,
        "properties": list(kind.wanted(ask.properties)),
        "filterGroups": [{"filters": [each.sent() for each in filters]}] if filters else [],
        "sorts": sorts(ask.sort),
    }
    sent = {name: value for name, value in body.items() if value}
    with taken_in(LESS):
        found = await api.sent("POST", f"{kind.path}/search", body=sent, reads=True)
    records = await _told(api, kind, found, ask.properties)
    return records.model_copy(update=_bounded(records, place))


async def read(api: HubSpotApi, kind: Kind, record_id: str, ask: One) -> Record:
    """`record_id`: of a contact also an email address."""
    try:
        with taken_in("Ask for fewer `properties`, and not for all with `full`."):
            parts = await _parts(api, kind, record_id, ask)
    except ToolFailed as failed:
        if failed.text != NOT_THERE:
            raise
        raise ToolFailed("upstream_refused", _absent(kind, record_id, ask)) from failed
    properties = dict(chain.from_iterable(part.get("properties", {}).items() for part in parts))
    beside = Names(api)
    return await read_one(beside, kind, parts[0] | {"properties": properties}, ask.properties, full=ask.full)


async def _parts(api: HubSpotApi, kind: Kind, record_id: str, ask: One) -> list[Json]:
    """The same record, each time with as many properties as a URL holds."""
    names = await _all_names(api, kind) if ask.full else kind.wanted(ask.properties)
    query = {
        "associations": ",".join(kind.related),
        "archived": ask.archived or None,
        "idProperty": "email" if "@" in record_id else None,
    }
    path = f"{kind.path}/{quote(record_id, safe='')}"
    return [await api.get(path, {**query, "properties": each}) for each in _in_urls(names)]


async def _told(api: HubSpotApi, kind: Kind, body: Json, chosen: list[str]) -> Records:
    names = Names(api)
    records = await read_many(names, kind, results(body), chosen)
    return Records(records=records, total=body.get("total"), next_cursor=next_cursor(body), notes=names.notes)


def next_cursor(body: Json) -> str | None:
    match body:
        case {"paging": {"next": {"after": after}}} if after:
            return str(after)
        case _:
            return None


def _bounded(records: Records, place: int) -> Json:
    """Further than HubSpot pages there is no cursor."""
    if not records.records:
        return {"notes": [*records.notes, NOT_FOUND_YET]}
    if not records.next_cursor or place + len(records.records) < REACHABLE:
        return {}
    note = (
        f"HubSpot pages no further than {REACHABLE:,} results. For the rest, sort by `hs_object_id` and search again "
        f"with the filter `hs_object_id GT` and the last id that you have."
    )
    return {"next_cursor": None, "notes": [*records.notes, note]}


async def _all_names(api: HubSpotApi, kind: Kind) -> tuple[str, ...]:
    return tuple(str(each["name"]) for each in results(await api.get(kind.definitions)))


def _in_urls(names: tuple[str, ...]) -> Iterator[str]:
    batch: list[str] = []
    for name in names:
        if batch and sum(map(len, batch)) + 3 * len(batch) + len(name) > LONGEST_LIST:
            yield ",".join(batch)
            batch = []
        batch.append(name)
    yield ",".join(batch)


def _absent(kind: Kind, record_id: str, ask: One) -> str:
    where = "in the recycling bin" if ask.archived else "outside of the recycling bin (`archived: true` looks there)"
    return f"HubSpot has no {kind.one} {record_id} {where}. hubspot_search_{kind.many} finds {kind.many} by name."

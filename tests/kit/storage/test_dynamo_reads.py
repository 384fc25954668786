"""Reads are complete, however DynamoDB splits or delays its answers."""

import ast
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from api.kit.storage.dynamodb.store import DynamoStore, dynamo_client
from api.kit.storage.store import Always, Delete, IfAbsent, IfPresent, ItemTooLarge, Key, Put, StoreUnavailable
from tests.fakes.dynamodb import PATIENT_TIMEOUT, aws_access, moto_endpoint, new_table
from tests.fakes.dynamodb_faults import Faults, answers, body_of
from tests.fakes.still_clock import StillClock

API = Path(__file__).parents[3] / "api"
KEYS = [Key("WS#1", f"{number:03}") for number in range(90)]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with aws_access(), moto_endpoint() as endpoint:
        yield endpoint


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def store(endpoint: str, clock: StillClock) -> AsyncIterator[DynamoStore]:
    client = dynamo_client(endpoint, read_seconds=PATIENT_TIMEOUT)
    store = DynamoStore(client, new_table(endpoint), clock, pause=clock.advance)
    yield store
    await store.close()


@pytest.fixture
def faults(store: DynamoStore) -> Faults:
    return Faults(store._client)


async def fill(store: DynamoStore) -> None:
    for first in range(0, len(KEYS), 30):
        await store.write(*(Put(key, {"sk": key.sk}, IfAbsent()) for key in KEYS[first : first + 30]))


def stale(request: AWSPreparedRequest) -> AWSResponse | None:
    """Who does not ask for a consistent read is answered from before the first write."""
    body = body_of(request)
    if "RequestItems" in body:
        late = not all(request.get("ConsistentRead") for request in body["RequestItems"].values())
        old: dict[str, Any] = {"Responses": {table: [] for table in body["RequestItems"]}, "UnprocessedKeys": {}}
    else:
        late = not body.get("ConsistentRead")
        old = {"Items": [], "Count": 0} if "KeyConditionExpression" in body else {}
    return answers(old)(request) if late else None


@pytest.mark.requirement("DB-02")
async def test_no_read_is_stale(store: DynamoStore, faults: Faults) -> None:
    for operation in ("GetItem", "BatchGetItem", "Query"):
        faults.put(operation, [stale] * 50)
    key = KEYS[0]
    for number in range(5):
        await store.write(Put(key, {"n": number}, Always()))

        one, many, listed = await store.get(key), await store.get_many([key]), await store.query("WS#1")

        assert one is not None
        assert one.data == {"n": number}
        assert many == {key: one}
        assert listed == [one]
    address = {"pk": {"S": key.pk}, "sk": {"S": key.sk}}
    assert "Item" not in faults.client.get_item(TableName=store._table, Key=address), "the fault does not bite"


@pytest.mark.requirement("DB-02")
@pytest.mark.parametrize("newest_first", [False, True])
async def test_short_pages_are_followed_to_the_end(store: DynamoStore, faults: Faults, newest_first: bool) -> None:
    """A page ends at a megabyte, whatever limit was asked for."""
    await fill(store)
    faults.client.meta.events.register(
        "before-parameter-build.dynamodb.Query", lambda params, **_: params.update(Limit=7)
    )

    items = await store.query("WS#1", limit=1000, newest_first=newest_first)
    some = await store.query("WS#1", limit=10, newest_first=newest_first)

    assert [item.key for item in items] == sorted(KEYS, reverse=newest_first)
    assert some == items[:10]
    assert faults.count("Query") == 13 + 2


@pytest.mark.requirement("DB-02")
async def test_an_empty_page_is_not_the_end(store: DynamoStore, faults: Faults) -> None:
    await fill(store)
    goes_on = {"pk": {"S": "WS#1"}, "sk": {"S": "019"}}
    faults.put("Query", [answers({"Items": [], "Count": 0, "LastEvaluatedKey": goes_on})])

    items = await store.query("WS#1", limit=5)

    assert [item.key.sk for item in items] == ["020", "021", "022", "023", "024"]


@pytest.mark.requirement("REL-10")
async def test_unprocessed_keys_are_requested_again(store: DynamoStore, faults: Faults, clock: StillClock) -> None:
    await fill(store)
    left: list[dict[str, Any]] = []

    def reads_half(params: dict[str, Any], **_: object) -> None:
        keys = params["RequestItems"][store._table]["Keys"]
        left[:] = keys[(len(keys) + 1) // 2 :]
        params["RequestItems"][store._table]["Keys"] = keys[: (len(keys) + 1) // 2]

    def says_so(parsed: dict[str, Any], **_: object) -> None:
        parsed["UnprocessedKeys"] = {store._table: {"Keys": list(left)}} if left else {}

    faults.client.meta.events.register("before-parameter-build.dynamodb.BatchGetItem", reads_half)
    faults.client.meta.events.register("after-call.dynamodb.BatchGetItem", says_so)
    started = clock.now()

    items = await store.get_many(KEYS)

    assert list(items) == KEYS
    assert faults.count("BatchGetItem") == 7  # 45, 23, 11, 6, 3, 1 and 1
    assert 0 < clock.now() - started < 1


@pytest.mark.requirement("REL-10")
async def test_keys_that_are_never_processed_make_the_store_unavailable(store: DynamoStore, faults: Faults) -> None:
    def reads_nothing(request: AWSPreparedRequest) -> AWSResponse | None:
        return answers({"Responses": {}, "UnprocessedKeys": body_of(request)["RequestItems"]})(request)

    faults.put("BatchGetItem", [reads_nothing] * 100)

    with pytest.raises(StoreUnavailable, match="left keys unread"):
        await store.get_many(KEYS)

    assert faults.count("BatchGetItem") == 8


@pytest.mark.requirement("DB-03")
async def test_a_write_over_four_megabytes_is_refused_before_it_is_sent(store: DynamoStore, faults: Faults) -> None:
    with pytest.raises(ItemTooLarge):
        await store.write(*(Put(key, {"text": "x" * 340_000}, IfAbsent()) for key in KEYS[:12]))
    with pytest.raises(ItemTooLarge):
        await store.write(Put(KEYS[0], {"text": "x" * 350_000}, IfAbsent()))

    assert faults.sent == []


async def test_the_store_needs_four_operations(store: DynamoStore, faults: Faults) -> None:
    """The rights in stack.yaml are made for these."""
    await store.write(Put(KEYS[0], {}, IfAbsent()), Put(KEYS[1], {}, IfAbsent()))
    await store.write(Delete(KEYS[1], IfPresent()))
    await store.get(KEYS[0])
    await store.get_many(KEYS[:2])
    await store.query("WS#1", limit=0)
    await store.query("WS#1")

    assert {name for name, _ in faults.sent} == {"GetItem", "BatchGetItem", "Query", "TransactWriteItems"}
    actions = [next(iter(action)) for name, body in faults.sent[:2] for action in body["TransactItems"]]
    assert actions == ["Put", "Put", "Delete"]


@pytest.mark.requirement("DB-04")
def test_only_a_copy_of_the_installation_scans_a_table() -> None:
    seen, unwanted = set(), {"scan", "get_paginator", "execute_statement", "update_item", "batch_write_item"}
    allowed = {API / "kit/storage/dynamodb/scan.py", API / "main/maintenance/store_copy.py"}
    for path in set(API.rglob("*.py")) - set((API / "kit/storage/postgres").iterdir()):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        seen |= names
        assert names & unwanted == ({"scan"} if path in allowed else set()), path

    assert {"batch_get_item", "transact_write_items"} <= seen, "the search finds no operation at all"

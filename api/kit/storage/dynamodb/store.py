"""The store for several machines: one DynamoDB table, consistent reads, transactional writes.

boto3 blocks, so each operation runs in a thread of this store. botocore's errors never leave this module.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import islice
from typing import Any, Protocol, TypeVar

import botocore.loaders
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from api.kit.clock import Clock, SystemClock
from api.kit.storage.dynamodb.items import (
    Attributes,
    Transaction,
    key_attributes,
    live_item,
    query_request,
    transaction,
    write_id_of,
)
from api.kit.storage.dynamodb.retries import (
    READ_PATIENCE_SECONDS,
    WRITE_PATIENCE_SECONDS,
    Answer,
    RetryingClient,
    TransactionCancelled,
)
from api.kit.storage.store import Change, Conflict, Item, Key, StoreUnavailable, check_changes, within

THREADS = 32
CONNECT_SECONDS = 1.0
READ_SECONDS = 2.0
BATCH = 100
FRUITLESS_BATCHES = 8

Result = TypeVar("Result")


class DynamoClient(Protocol):
    """The part of a boto3 client that the store uses."""

    def get_item(self, **request: Any) -> Answer: ...

    def batch_get_item(self, **request: Any) -> Answer: ...

    def query(self, **request: Any) -> Answer: ...

    def transact_write_items(self, **request: Any) -> Answer: ...

    def close(self) -> None: ...


def dynamo_client(
    endpoint: str | None = None,
    threads: int = THREADS,
    *,
    region: str | None = None,
    read_seconds: float = READ_SECONDS,
) -> Any:
    """A boto3 client, with credentials and region from AWS's usual sources."""
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": 1},  # `RetryingClient` retries
        max_pool_connections=threads,
        tcp_keepalive=True,
        user_agent="plugboard",  # the SDK builds its default for each request, which takes a tenth of a read's CPU
    )
    try:
        return _session().create_client("dynamodb", endpoint_url=endpoint, region_name=region, config=config)
    except BotoCoreError as error:
        raise StoreUnavailable(f"DynamoDB cannot be used: {error} (AWS_DEFAULT_REGION sets its region)") from None


def _session() -> botocore.session.Session:
    session = botocore.session.get_session()
    session.register_component("data_loader", _loader())
    return session


@cache
def _loader() -> botocore.loaders.Loader:
    """Reads the service descriptions once: that is most of the cost of a client."""
    return botocore.loaders.create_loader()


class DynamoStore:
    def __init__(
        self,
        client: DynamoClient,
        table: str,
        clock: Clock | None = None,
        threads: int = THREADS,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._table = table
        self._clock = clock or SystemClock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dynamodb")
        self._calls = RetryingClient(self._clock, pause)

    async def get(self, key: Key) -> Item | None:
        return await self._in_thread(partial(self._get, key))

    async def get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        return await self._in_thread(partial(self._get_many, list(dict.fromkeys(keys))))

    async def query(
        self,
        pk: str,
        prefix: str = "",
        *,
        limit: int = 100,
        after: str | None = None,
        newest_first: bool = False,
        max_bytes: int | None = None,
    ) -> list[Item]:
        if after is not None and not (after and after.startswith(prefix)):
            # DynamoDB refuses to start outside the queried range: there, either all items follow or none.
            if (after <= prefix) == newest_first:
                return []
            after = None
        request = query_request(self._table, (pk, prefix), limit, newest_first=newest_first)
        start = key_attributes(Key(pk, after)) if after else None
        return await self._in_thread(partial(self._query, request, start, limit, max_bytes))

    async def write(self, *changes: Change) -> None:
        check_changes(changes)
        request = transaction(changes, self._table, uuid.uuid4().hex, self._now())
        if request.actions:
            await self._in_thread(partial(self._write, request))

    async def close(self) -> None:
        """Waits for the operations in progress. May be called twice."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        self._client.close()

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _now(self) -> int:
        return int(self._clock.now())

    def _read(self, operation: Callable[..., Answer], **request: Any) -> Answer:
        return self._calls.make(partial(operation, **request), READ_PATIENCE_SECONDS)

    def _get(self, key: Key) -> Item | None:
        request = {"TableName": self._table, "Key": key_attributes(key), "ConsistentRead": True}
        response = self._read(self._client.get_item, **request)
        return live_item(response["Item"], self._now()) if "Item" in response else None

    def _get_many(self, keys: Sequence[Key]) -> dict[Key, Item]:
        now = self._now()
        items = (live_item(attributes, now) for attributes in self._batches(keys))
        by_key = {item.key: item for item in items if item}
        return {key: by_key[key] for key in keys if key in by_key}

    def _batches(self, keys: Sequence[Key], **options: Any) -> Iterator[Attributes]:
        for first in range(0, len(keys), BATCH):
            yield from self._batch(keys[first : first + BATCH], options)

    def _batch(self, keys: Sequence[Key], options: Mapping[str, Any]) -> Iterator[Attributes]:
        """Requests the unprocessed keys again, until none are left or several requests in a row return nothing."""
        pending, fruitless = [key_attributes(key) for key in keys], 0
        while pending:
            request = {self._table: {"Keys": pending, "ConsistentRead": True, **options}}
            response = self._read(self._client.batch_get_item, RequestItems=request)
            yield from response.get("Responses", {}).get(self._table, ())
            unprocessed = response.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
            fruitless = fruitless + 1 if len(unprocessed) == len(pending) else 0
            if fruitless == FRUITLESS_BATCHES:
                raise StoreUnavailable("DynamoDB left keys unread")
            if unprocessed:
                self._calls.wait(fruitless + 1)
            pending = unprocessed

    def _query(
        self, request: Mapping[str, Any], start: Attributes | None, limit: int, max_bytes: int | None
    ) -> list[Item]:
        now = self._now()
        items = (live_item(attributes, now) for attributes in self._pages(request, start))
        return list(within(islice(filter(None, items), limit), max_bytes))

    def _pages(self, request: Mapping[str, Any], start: Attributes | None) -> Iterator[Attributes]:
        """A page may be short or empty and still not be the last."""
        while True:
            start_key = {"ExclusiveStartKey": start} if start else {}
            response = self._read(self._client.query, **request, **start_key)
            yield from response["Items"]
            start = response.get("LastEvaluatedKey")
            if not start:
                return

    def _write(self, request: Transaction) -> None:
        send = partial(
            self._client.transact_write_items, TransactItems=request.actions, ClientRequestToken=request.write_id
        )
        try:
            self._calls.make(send, WRITE_PATIENCE_SECONDS)
        except TransactionCancelled as cancelled:
            if not (cancelled.in_doubt and self._was_applied(request, cancelled)):
                pairs = zip(request.changes, cancelled.reasons, strict=True)
                failed = [change.key for change, reason in pairs if reason.get("Code") == "ConditionalCheckFailed"]
                raise Conflict(failed) from None

    def _was_applied(self, request: Transaction, cancelled: TransactionCancelled) -> bool:
        """Whether the conditions fail because an earlier attempt, whose answer was lost, succeeded.

        A write is atomic and its mark is used once, so one item that carries the mark proves the write. DynamoDB itself
        recognises a token for ten minutes; this is a second safeguard.
        """
        marks_of_failed = (write_id_of(reason["Item"]) for reason in cancelled.reasons if reason.get("Item"))
        if request.write_id in marks_of_failed:
            return True
        if request.puts:
            marks = self._batches(request.puts, ProjectionExpression="pk, sk, write_id")
            return any(write_id_of(attributes) == request.write_id for attributes in marks)
        if request.has_deletes:  # they leave no mark, so either result would be a guess
            raise StoreUnavailable("the answer to a delete was lost; it may have happened")
        return False

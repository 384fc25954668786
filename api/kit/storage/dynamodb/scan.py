"""A DynamoDB store that can be read as a whole. The service's role may not do that; the operator's own may."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, Protocol

from api.kit.clock import Clock
from api.kit.storage.dynamodb.items import Attributes, key_attributes, live_item
from api.kit.storage.dynamodb.retries import Answer
from api.kit.storage.dynamodb.store import THREADS, DynamoClient, DynamoStore
from api.kit.storage.store import Item, Key


class ScanningClient(DynamoClient, Protocol):
    def scan(self, **request: Any) -> Answer: ...


class ScannableDynamoStore(DynamoStore):
    def __init__(self, client: ScanningClient, table: str, clock: Clock | None = None, threads: int = THREADS) -> None:
        super().__init__(client, table, clock, threads)
        self._scanning = client

    async def scan(self, limit: int, after: Key | None = None) -> list[Item]:
        return await self._in_thread(partial(self._scan, limit, after))

    def _scan(self, limit: int, after: Key | None) -> list[Item]:
        now = self._now()
        items = (live_item(attributes, now) for attributes in self._scanned(limit, after))
        return list(islice(filter(None, items), limit))

    def _scanned(self, limit: int, after: Key | None) -> Iterator[Attributes]:
        start = key_attributes(after) if after else None
        while True:
            request = {"TableName": self._table, "ConsistentRead": True, "Limit": limit}
            response = self._read(self._scanning.scan, **request, **({"ExclusiveStartKey": start} if start else {}))
            yield from response["Items"]
            start = response.get("LastEvaluatedKey")
            if not start:
                return

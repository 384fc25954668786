"""Idempotency records that an earlier version stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litestar import Request

from api.access.api_key import ApiKey
from api.access.api_key_scheme import ApiKeyScheme
from api.access.context import OperatorContext
from api.access.idempotency.records import IdempotencyRecord
from api.access.last_used import LastUsedRecorder
from api.access.peppers import Peppers
from api.access.principal import Credentials, Principal, Scope
from api.access.repository import ApiKeyRepository
from api.http.responses import StoredResponse
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.root_keys import LocalRootKeys
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Vault
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import IfAbsent, Put
from tests.fakes.still_clock import StillClock

KEY = ApiKey("key_863yvsmf2ff8s2bpjjxb", Secret("FxAMxwBNevViKXUbhFx0NGLJjllS9kKA"))
SORT_KEY = "IDEMPOTENCY#2cde49ebff44568d7b9bcf5fd225c0c314a1401aa87949148844d4922d4b67d7"
RECORD = {
    "request": "d86b09dcb7c380834a94e7d523f04e9d3cba8d268762f120a8d1b0fa88e30be9",
    "status": 201,
    "headers": {"Location": "/api/workspaces/ws_1"},
    "body": (
        "UAEBAAAAAdw7QeyR4prqhbKdt2xgIR_PKNDZV5KNlnop8ynHSWFDTvN9tVqMYaW86WZycKPafAQbFZZImc5M7puB29yRdSUF-25hlJ1FTPGl"
        "CaKgoXDomP0stfrIcB8FhrXSE1LL4jGagiEN5pUOV57E6gb1I7r9ESezyiLyDTfB4R6-2_6qLh9-mk-_oz1KDDpcgAj6OZ5Yy8ehoS27h_9XbQ"
    ),
}


async def test_a_stored_response_is_replayed(tmp_path: Path) -> None:
    store, clock = SqliteStore(tmp_path / "plugboard.db"), StillClock()
    vault = Vault(KeyRing(store, LocalRootKeys({"root": Secret(bytes(32))}), clock))
    scheme = ApiKeyScheme(ApiKeyRepository(store), Peppers(vault), LastUsedRecorder(store, clock))
    principal = Principal("operator", KEY.key_id, "x", Scope.OPERATOR)
    context = OperatorContext(principal, "request-1", Credentials(scheme, KEY.text().reveal_text()))
    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": "/api/workspaces",
        "query_string": b"",
        "headers": [],
        "state": {"context": context, "body": {"name": "Acme"}},
    }

    record = await IdempotencyRecord.for_request(Request(scope), "retry-1")
    await store.write(Put(record.key, RECORD, IfAbsent()))
    item = await record.load(store)

    assert record.key.sk == SORT_KEY
    assert item is not None
    headers = {"Location": "/api/workspaces/ws_1", "Idempotent-Replayed": "true"}
    assert record.response(item) == StoredResponse(201, b'{"name":"Acme"}', headers)
    await store.close()

"""Store failures during a call with an Idempotency-Key: nothing is sent twice."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from litestar import Request

from api.access.context import OperatorContext
from api.access.idempotency.calls import IN_PROGRESS, IdempotentCall
from api.access.principal import AuthenticationScheme, Credentials, Principal, Scope
from api.audit.journal import Journal
from api.errors import AppError, ConflictProblem, NotFound, ServiceUnavailable
from api.http.request import AnyRequest
from api.http.responses import StoredResponse
from api.kit.crypto.data_keys import NoDataKey
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.crypto.secret import Secret
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Change, Conflict, Delete, StoreUnavailable
from api.toolbox.calling.disconnect import ClientDisconnected
from tests.fakes.still_clock import StillClock

CLOCK = StillClock()


class OneSecret(AuthenticationScheme):
    """Uses the given credentials as the sealing secret."""

    async def sealing_secret(self, credentials: str) -> Secret:
        return Secret(credentials)


CONTEXT = OperatorContext(
    Principal("operator", "key_1", "x", Scope.OPERATOR), "request-1", Credentials(OneSecret(), "a secret")
)


class FailingStore(SqliteStore):
    """Refuses its second write, and every delete, for as long as it is tired."""

    tired = False
    writes = 0

    async def write(self, *changes: Change) -> None:
        self.writes += 1
        if self.tired and (self.writes == 2 or isinstance(changes[0], Delete)):
            raise StoreUnavailable("the disk is full")
        await super().write(*changes)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[FailingStore]:
    created = FailingStore(tmp_path / "plugboard.db", CLOCK)
    yield created
    await created.close()


def request(body: object = None) -> AnyRequest:
    scope: Any = {
        "type": "http",
        "method": "POST",
        "path": "/somewhere",
        "query_string": b"",
        "headers": [],
        "state": {"context": CONTEXT, "body": body},
    }
    return Request(scope)


def run_once(store: FailingStore, body: object = None) -> IdempotentCall:
    return IdempotentCall(request(body), store, Journal(store, CLOCK).write, CLOCK)


class Work:
    """Counts its runs and ends with the given outcome."""

    def __init__(self, ends: Exception | None = None) -> None:
        self.done = 0
        self.ends = ends

    async def __call__(self) -> tuple[StoredResponse, bool]:
        self.done += 1
        if self.ends:
            raise self.ends
        return StoredResponse(200, f"answer {self.done}".encode()), True


@pytest.mark.requirement("REL-14")
async def test_a_response_that_cannot_be_stored_is_sent_and_the_call_is_not_repeated(
    store: FailingStore, caplog: pytest.LogCaptureFixture
) -> None:
    work, store.tired = Work(), True

    with caplog.at_level(logging.WARNING):
        answer = await run_once(store).run("key", work)
    with pytest.raises(ConflictProblem, match=IN_PROGRESS):
        await run_once(store).run("key", work)

    assert (answer.body, work.done) == (b"answer 1", 1)
    assert [record.__dict__["detail"] for record in caplog.records] == ["the disk is full"]


@pytest.mark.requirement("REL-03")
@pytest.mark.parametrize(
    "reason",
    [NotFound(), ServiceUnavailable(), StoreUnavailable("x"), NoDataKey(), RootKeyUnavailable("x"), CannotOpen()],
)
async def test_after_nothing_was_sent_the_same_key_can_be_used_again(store: FailingStore, reason: Exception) -> None:
    failing, work = Work(reason), Work()

    with pytest.raises(type(reason)):
        await run_once(store).run("key", failing)

    assert (await run_once(store, "another body").run("key", work)).body == b"answer 1"
    assert (failing.done, work.done) == (1, 1)


@pytest.mark.requirement("REL-14")
@pytest.mark.parametrize("reason", [ClientDisconnected(), RuntimeError("a mistake of ours")])
async def test_after_something_may_have_been_sent_the_key_stays_reserved(
    store: FailingStore, reason: Exception
) -> None:
    failing, work = Work(reason), Work()

    with pytest.raises(type(reason)):
        await run_once(store).run("key", failing)
    with pytest.raises(ConflictProblem, match=IN_PROGRESS):
        await run_once(store).run("key", work)

    assert work.done == 0


async def test_a_key_that_cannot_be_freed_does_not_hide_the_error(store: FailingStore) -> None:
    failing, store.tired = Work(NotFound("There is no such tool.")), True

    with pytest.raises(NotFound, match=r"There is no such tool\."):
        await run_once(store).run("key", failing)
    with pytest.raises(ConflictProblem, match=IN_PROGRESS):
        await run_once(store).run("key", failing)

    assert failing.done == 1


async def test_nothing_is_done_if_the_key_cannot_be_reserved(store: FailingStore) -> None:
    work, store.tired, store.writes = Work(), True, 1

    with pytest.raises(StoreUnavailable):
        await run_once(store).run("key", work)

    assert work.done == 0
    assert (await run_once(store).run("key", work)).body == b"answer 1"


async def test_a_key_that_is_freed_during_the_check_can_be_retried(store: FailingStore) -> None:
    work = Work()

    async def taken(_: Principal, changes: Any) -> None:
        raise Conflict([change.key for change in changes])

    with pytest.raises(AppError) as raised:
        await IdempotentCall(request(), store, taken, CLOCK).run("key", work)

    assert (raised.value.status, raised.value.headers, work.done) == (503, {"Retry-After": "1"}, 0)

"""Retries while DynamoDB is slow, throttled or unreachable: which calls, how often, and the effect on others."""

import asyncio
import logging
import math
import random
import socket
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from api.kit.storage.dynamodb.retries import PAUSES
from api.kit.storage.dynamodb.store import DynamoStore, dynamo_client
from api.kit.storage.store import Always, Check, Conflict, IfAbsent, IfPresent, Key, Put, StoreUnavailable
from tests.fakes.dynamodb import PATIENT_TIMEOUT, aws_access, moto_endpoint, new_table
from tests.fakes.dynamodb_faults import Fault, Faults, answers, cancelled, lost_request, passes, refused, throttled
from tests.fakes.still_clock import StillClock

A = Key("WS#1", "A")
B = Key("WS#1", "B")
NOTHING = "http://127.0.0.1:9"  # every request is answered by a hook before it is sent
SUCCESS = answers({})


@pytest.fixture(autouse=True, scope="module")
def access() -> Iterator[None]:
    with aws_access():
        yield


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
async def store(clock: StillClock) -> AsyncIterator[DynamoStore]:
    store = DynamoStore(dynamo_client(NOTHING), "a-table", clock, pause=clock.advance)
    yield store
    await store.close()


@pytest.fixture
def faults(store: DynamoStore) -> Faults:
    return Faults(store._client)


def some_throttled(chance: float, seed: int) -> Iterator[Fault]:
    dice = random.Random(seed)
    while True:
        yield throttled if dice.random() < chance else SUCCESS


def some_throttled_once(chance: float, seed: int) -> Iterator[Fault]:
    dice = random.Random(seed)
    while True:
        if dice.random() < chance:
            yield throttled
        yield SUCCESS


async def outcomes(store: DynamoStore, clock: StillClock, times: int) -> tuple[int, list[float]]:
    """How many of the operations succeeded, and how long each was made to wait."""
    successes, waits = 0, []
    for number in range(times):
        started = clock.now()
        try:
            await (store.get(A) if number % 2 else store.write(Put(A, {}, IfAbsent())))
            successes += 1
        except StoreUnavailable:
            pass
        waits.append(clock.now() - started)
    return successes, sorted(waits)


@pytest.mark.requirement("REL-09")
async def test_operations_succeed_soon_while_three_in_ten_are_throttled(
    store: DynamoStore, faults: Faults, clock: StillClock
) -> None:
    for seed, operation in enumerate(("GetItem", "TransactWriteItems")):
        faults.put(operation, some_throttled(0.3, seed))

    successes, waits = await outcomes(store, clock, 2000)

    assert successes >= 1998
    assert 0 < waits[math.floor(0.99 * 2000)] < 2.0
    assert len(faults.sent) <= 2000 / 0.7 * 1.05  # what three in ten must cost, when tries are throttled as well


@pytest.mark.requirement("REL-09")
async def test_operations_throttled_once_cost_one_more_try_each(
    store: DynamoStore, faults: Faults, clock: StillClock
) -> None:
    for seed, operation in enumerate(("GetItem", "TransactWriteItems")):
        faults.put(operation, some_throttled_once(0.28, seed))

    successes, _ = await outcomes(store, clock, 1000)

    assert successes == 1000
    assert 1000 < len(faults.sent) <= 1300


@pytest.mark.requirement("REL-09")
async def test_an_outage_does_not_cause_a_storm_of_retries(
    store: DynamoStore, faults: Faults, clock: StillClock
) -> None:
    faults.put("GetItem", some_throttled(1.0, 0))
    faults.put("TransactWriteItems", some_throttled(1.0, 0))

    successes, _ = await outcomes(store, clock, 300)

    assert successes == 0
    assert len(faults.sent) <= 300 + 200


async def test_successes_after_an_outage_refill_the_retry_budget(
    store: DynamoStore, faults: Faults, clock: StillClock
) -> None:
    faults.put("GetItem", [throttled] * 1000)
    faults.put("TransactWriteItems", [throttled] * 1000)
    await outcomes(store, clock, 300)
    faults.put("GetItem", [SUCCESS, SUCCESS, throttled, SUCCESS, throttled])
    faults.put("TransactWriteItems", [])

    await store.get(A)
    await store.get(A)
    await store.get(A)

    with pytest.raises(StoreUnavailable):
        await store.get(A)


@pytest.mark.requirement("REL-09")
@pytest.mark.parametrize(("tries", "most"), [(1, 0.05), (2, 0.1), (5, 0.8), (6, 1.0), (20, 1.0)])
def test_pauses_are_spread_over_their_whole_range(tries: int, most: float) -> None:
    pauses = [PAUSES.pause(tries - 1) for _ in range(500)]

    assert 0 <= min(pauses) < most * 0.1
    assert most * 0.9 < max(pauses) <= most


@pytest.mark.parametrize(
    "fault",
    [
        throttled,
        lost_request,
        refused("ProvisionedThroughputExceededException"),
        refused("RequestLimitExceeded"),
        refused("InternalServerError", status=500),
        refused("ServiceUnavailable", status=503),
    ],
    ids=["throttled", "timeout", "throughput", "limit", "500", "503"],
)
async def test_temporary_failures_are_retried_for_a_limited_time(
    store: DynamoStore, faults: Faults, clock: StillClock, fault: Fault
) -> None:
    faults.put("GetItem", [fault, fault, SUCCESS])
    assert await store.get(A) is None
    assert faults.count("GetItem") == 3

    faults.put("GetItem", [fault] * 1000)
    started = clock.now()
    with pytest.raises(StoreUnavailable):
        await store.get(A)
    assert clock.now() - started <= 5.0
    assert faults.count("GetItem") <= 3 + 20


@pytest.mark.parametrize(
    "fault",
    [
        cancelled("None", "TransactionConflict"),
        cancelled("ThrottlingError", "TransactionConflict"),
        cancelled("ProvisionedThroughputExceeded", "None"),
        refused("TransactionInProgressException"),
    ],
    ids=["conflict", "throttled", "throughput", "in progress"],
)
async def test_a_conflicting_transaction_is_retried_for_a_limited_time(
    store: DynamoStore, faults: Faults, clock: StillClock, fault: Fault
) -> None:
    changes = Put(A, {}, IfAbsent()), Check(B, IfPresent())
    faults.put("TransactWriteItems", [fault, fault, SUCCESS])
    await store.write(*changes)
    assert faults.count("TransactWriteItems") == 3

    faults.put("TransactWriteItems", [fault] * 1000)
    started = clock.now()
    with pytest.raises(StoreUnavailable):
        await store.write(*changes)
    assert 2.0 < clock.now() - started <= 10.0


async def test_a_failed_condition_takes_precedence_over_a_transaction_conflict(
    store: DynamoStore, faults: Faults
) -> None:
    faults.put("TransactWriteItems", [cancelled("TransactionConflict", "ConditionalCheckFailed")])

    with pytest.raises(Conflict) as caught:
        await store.write(Put(A, {}, IfAbsent()), Check(B, IfPresent()))

    assert caught.value.failed == {B}


@pytest.mark.parametrize(
    "fault",
    [
        refused("AccessDeniedException", "User: arn:aws:sts::123456789012:token is not authorized"),
        refused("ResourceNotFoundException", "token"),
        refused("InvalidSignatureException", "The Canonical String should have been x-amz-security-token"),
        cancelled("ValidationError", "None"),
        cancelled(),
    ],
)
async def test_permanent_failures_are_raised_at_once_without_secrets(
    store: DynamoStore, faults: Faults, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    faults.put("TransactWriteItems", [fault])
    with caplog.at_level(logging.INFO), pytest.raises(StoreUnavailable) as caught:
        await store.write(Put(A, {}, IfAbsent()), Check(B, IfPresent()))

    assert len(faults.sent) == 1
    assert "token" not in str(caught.value) + caplog.text
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


async def test_an_error_found_by_botocore_is_raised_at_once(store: DynamoStore, faults: Faults) -> None:
    with pytest.raises(StoreUnavailable, match="ParamValidationError"):
        await store.get(Key("WS#1", 7))

    assert faults.sent == []


async def test_an_unreachable_table_is_unavailable(store: DynamoStore) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.get(A)


@pytest.mark.requirement("REL-22")
async def test_a_server_that_never_answers_is_given_up(clock: StillClock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = dynamo_client(f"http://127.0.0.1:{silent.getsockname()[1]}", read_seconds=0.02)
        store = DynamoStore(client, "a-table", clock, pause=clock.advance)
        with pytest.raises(StoreUnavailable, match="ReadTimeoutError"):
            await store.get(A)
        await store.close()


@pytest.mark.requirement("REL-22")
async def test_the_event_loop_runs_while_every_call_hangs(store: DynamoStore, faults: Faults) -> None:
    release, all_hang, hanging = threading.Event(), asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def hangs(request: AWSPreparedRequest) -> AWSResponse | None:
        hanging.append(request)
        if len(hanging) == 32:
            loop.call_soon_threadsafe(all_hang.set)
        assert release.wait(PATIENT_TIMEOUT), "the loop could not go on"
        return SUCCESS(request)

    faults.put("GetItem", [hangs] * 40)
    faults.put("TransactWriteItems", [hangs] * 40)
    calls = [asyncio.ensure_future(store.get(A)) for _ in range(40)]
    calls += [asyncio.ensure_future(store.write(Put(A, {}, IfAbsent()))) for _ in range(40)]

    await all_hang.wait()
    for _ in range(1000):
        await asyncio.sleep(0)
    assert not any(call.done() for call in calls)
    release.set()
    await asyncio.gather(*calls)
    assert len(hanging) == 80


@pytest.mark.requirement("REL-22")
def test_the_client_has_short_timeouts_and_a_connection_for_each_thread() -> None:
    client = dynamo_client(NOTHING, 7, region="eu-west-1")
    config = client.meta.config

    assert (config.connect_timeout, config.read_timeout) == (1.0, 2.0)
    assert config.max_pool_connections == 7
    assert config.retries["total_max_attempts"] == 1
    assert client.meta.region_name == "eu-west-1"
    client.close()


@pytest.mark.requirement("DB-05")
async def test_fifty_writers_of_one_hot_item_all_succeed(clock: StillClock) -> None:
    """DynamoDB turns a transaction away while another holds one of its items."""
    with moto_endpoint() as endpoint:
        client = dynamo_client(endpoint, read_seconds=PATIENT_TIMEOUT)
        store = DynamoStore(client, new_table(endpoint), clock, pause=lambda _: None)
        faults, dice = Faults(client), random.Random(5)
        contended = cancelled("TransactionConflict", "None")
        faults.put("TransactWriteItems", iter(lambda: contended if dice.random() < 0.5 else passes, None))
        own = [Key("WS#1", f"OWN#{number:02}") for number in range(50)]

        await asyncio.gather(*(store.write(Put(A, {"by": key.sk}, Always()), Put(key, {}, IfAbsent())) for key in own))

        assert [item.key for item in await store.query("WS#1", "OWN#")] == own
        hot = await store.get(A)
        await store.close()
    assert hot is not None
    assert hot.data["by"] in {key.sk for key in own}
    assert faults.count("TransactWriteItems") > 75

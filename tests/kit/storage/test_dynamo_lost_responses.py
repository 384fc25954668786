"""A write whose answer is lost happens once, and its caller gets the true result."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from botocore.awsrequest import AWSPreparedRequest

from api.kit.storage.dynamodb.store import DynamoStore, dynamo_client
from api.kit.storage.store import (
    Always,
    Change,
    Check,
    Conflict,
    Delete,
    IfAbsent,
    IfPresent,
    IfVersion,
    Item,
    Key,
    Put,
    StoreUnavailable,
)
from tests.fakes.dynamodb import (
    NO_DYNOXIDE,
    PATIENT_TIMEOUT,
    aws_access,
    dynoxide_endpoint,
    dynoxide_is_installed,
    moto_endpoint,
    new_table,
)
from tests.fakes.dynamodb_faults import Faults, lost_request
from tests.fakes.still_clock import StillClock

OLD = Key("WS#1", "OLD")
NEW = Key("WS#1", "NEW")
OTHER = Key("WS#1", "OTHER")

WRITES: dict[str, Callable[[], list[Change]]] = {
    "put absent": lambda: [Put(NEW, {"by": "us"}, IfAbsent())],
    "put unchanged": lambda: [Put(OLD, {"by": "us"}, IfVersion(1))],
    "put present": lambda: [Put(OLD, {"by": "us"}, IfPresent())],
    "put always": lambda: [Put(OLD, {"by": "us"}, Always())],
    "delete present": lambda: [Delete(OLD, IfPresent())],
    "delete unchanged": lambda: [Delete(OLD, IfVersion(1))],
    "delete always": lambda: [Delete(OLD, Always())],
    "redeem": lambda: [Delete(OLD, IfPresent()), Put(NEW, {"by": "us"}, Always())],
    "move": lambda: [Delete(OLD, IfVersion(1)), Put(NEW, {"by": "us"}, IfAbsent()), Check(OTHER, IfPresent())],
    "check": lambda: [Check(OTHER, IfVersion(1))],
}
LEAVES_NOTHING_TO_RECOGNISE = {"delete present", "delete unchanged"}


@pytest.fixture(scope="module", params=["moto", "dynoxide"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "dynoxide" and not dynoxide_is_installed():
        pytest.skip(NO_DYNOXIDE)
    return str(request.param)


@pytest.fixture(scope="module")
def endpoint(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data = tmp_path_factory.mktemp("dynoxide") / "tables.db"
    with aws_access(), moto_endpoint() if engine == "moto" else dynoxide_endpoint(data) as endpoint:
        yield endpoint


@pytest.fixture
async def ours(endpoint: str) -> AsyncIterator[DynamoStore]:
    clock = StillClock()
    client = dynamo_client(endpoint, read_seconds=PATIENT_TIMEOUT)
    store = DynamoStore(client, new_table(endpoint), clock, pause=clock.advance)
    await store.write(Put(OLD, {"by": "someone"}, IfAbsent()), Put(OTHER, {"by": "someone"}, IfAbsent()))
    yield store
    await store.close()


@pytest.fixture
async def theirs(ours: DynamoStore, endpoint: str) -> AsyncIterator[DynamoStore]:
    """The same table over a reliable connection."""
    store = DynamoStore(dynamo_client(endpoint, read_seconds=PATIENT_TIMEOUT), ours._table, StillClock())
    yield store
    await store.close()


@pytest.fixture
def faults(ours: DynamoStore) -> Faults:
    return Faults(ours._client)


async def everything(store: DynamoStore) -> list[Item]:
    return await store.query("WS#1")


async def after_one(store: DynamoStore, changes: list[Change]) -> list[Item]:
    """What there must be after the changes happened once."""
    items = {item.key: item for item in await everything(store)}
    for change in changes:
        if isinstance(change, Put):
            items[change.key] = Item(change.key, change.data, change.version)
        if isinstance(change, Delete):
            items.pop(change.key)
    return [items[key] for key in sorted(items)]


@pytest.mark.requirement("REL-08")
@pytest.mark.parametrize("fault", ["lost_answer", "failed_answer"])
@pytest.mark.parametrize("kind", WRITES)
async def test_a_write_whose_answer_is_lost_happens_once_and_succeeds(
    ours: DynamoStore, theirs: DynamoStore, faults: Faults, engine: str, kind: str, fault: str
) -> None:
    changes = WRITES[kind]()
    expected = await after_one(theirs, changes)
    faults.put("TransactWriteItems", [getattr(faults, fault)])

    if engine == "moto" and kind in LEAVES_NOTHING_TO_RECOGNISE:  # moto forgets the tokens of writes
        with pytest.raises(StoreUnavailable, match="it may have happened"):
            await ours.write(*changes)
    else:
        await ours.write(*changes)

    assert await everything(theirs) == expected
    assert faults.count("TransactWriteItems") == 2


@pytest.mark.requirement("REL-08")
async def test_losing_answer_after_answer_still_writes_once(ours: DynamoStore, faults: Faults) -> None:
    for number in range(1, 11):
        item = await ours.get(OLD)
        assert item is not None
        faults.put("TransactWriteItems", [faults.lost_answer] * 3)
        await ours.write(Put(OLD, {"n": item.data.get("n", 0) + 1}, IfVersion(item.version)))
        item = await ours.get(OLD)
        assert item is not None
        assert (item.data, item.version) == ({"n": number}, number + 1)


async def test_the_mark_on_a_conflicting_item_proves_our_write(ours: DynamoStore, faults: Faults) -> None:
    faults.put("TransactWriteItems", [faults.lost_answer])

    await ours.write(Put(NEW, {}, IfAbsent()))

    assert [name for name, _ in faults.sent] == ["TransactWriteItems"] * 2


@pytest.mark.requirement("REL-08")
@pytest.mark.parametrize("kind", WRITES)
async def test_a_write_that_never_arrived_is_sent_again(
    ours: DynamoStore, theirs: DynamoStore, faults: Faults, kind: str
) -> None:
    changes = WRITES[kind]()
    expected = await after_one(theirs, changes)
    faults.put("TransactWriteItems", [lost_request])

    await ours.write(*changes)

    assert await everything(theirs) == expected


async def test_every_attempt_of_a_write_sends_the_same(ours: DynamoStore, faults: Faults) -> None:
    """DynamoDB takes a known token with other words for a mistake, and the clock goes on between two tries."""
    faults.put("TransactWriteItems", [lost_request, lost_request])

    await ours.write(Put(NEW, {}, IfAbsent(), 2_000_000_000))
    await ours.write(Put(OLD, {}, IfPresent()))

    requests = [body for _, body in faults.sent]
    assert requests[0] == requests[1] == requests[2]
    assert requests[2]["ClientRequestToken"] != requests[3]["ClientRequestToken"]


@pytest.mark.parametrize(
    "change",
    [Put(NEW, {"by": "us"}, IfAbsent()), Put(OLD, {"by": "us"}, IfVersion(1)), Put(OLD, {"by": "us"}, Always())],
    ids=["absent", "unchanged", "always, beside a check"],
)
async def test_a_conflict_behind_a_lost_request_is_still_a_conflict(
    ours: DynamoStore, theirs: DynamoStore, faults: Faults, change: Put
) -> None:
    await theirs.write(Put(NEW, {"by": "them"}, IfAbsent()), Put(OLD, {"by": "them"}, Always()))
    before = await everything(theirs)
    faults.put("TransactWriteItems", [lost_request])

    with pytest.raises(Conflict):
        await ours.write(change, Check(OTHER, IfVersion(9)))

    assert await everything(theirs) == before


async def test_a_first_conflict_is_believed_without_another_look(ours: DynamoStore, faults: Faults) -> None:
    with pytest.raises(Conflict) as caught:
        await ours.write(Put(OLD, {}, IfAbsent()), Delete(NEW, IfPresent()), Check(OTHER, IfPresent()))

    assert caught.value.failed == {OLD, NEW}
    assert [name for name, _ in faults.sent] == ["TransactWriteItems"]


async def test_the_same_change_written_twice_by_its_caller_conflicts(ours: DynamoStore, faults: Faults) -> None:
    put = Put(NEW, {}, IfAbsent())
    await ours.write(put)
    faults.put("TransactWriteItems", [lost_request])

    with pytest.raises(Conflict):
        await ours.write(put)


async def test_one_item_left_is_enough_to_know_that_a_write_happened(
    ours: DynamoStore, endpoint: str, faults: Faults
) -> None:
    """Another writer overwrites an item before the retry."""
    other = dynamo_client(endpoint, read_seconds=PATIENT_TIMEOUT)

    def lost_and_overwritten(request: AWSPreparedRequest) -> None:
        try:
            faults.lost_answer(request)
        finally:
            item = {"pk": {"S": NEW.pk}, "sk": {"S": NEW.sk}, "version": {"N": "7"}, "data": {"S": "{}"}}
            other.put_item(TableName=ours._table, Item=item)

    faults.put("TransactWriteItems", [lost_and_overwritten])

    await ours.write(Put(NEW, {"by": "us"}, IfAbsent()), Put(OLD, {"by": "us"}, Always()))

    item = await ours.get(NEW)
    assert item is not None
    assert item.version == 7
    other.close()


async def test_a_delete_with_an_unknown_result_is_neither_success_nor_conflict(
    ours: DynamoStore, faults: Faults
) -> None:
    """Had it been answered with success, a one-use thing could be used twice."""
    await ours.write(Delete(OLD, IfPresent()))
    faults.put("TransactWriteItems", [lost_request])

    with pytest.raises(StoreUnavailable, match="it may have happened"):
        await ours.write(Delete(OLD, IfPresent()))


async def test_a_check_alone_leaves_no_doubt(ours: DynamoStore, faults: Faults) -> None:
    faults.put("TransactWriteItems", [lost_request])

    with pytest.raises(Conflict) as caught:
        await ours.write(Check(NEW, IfPresent()))

    assert caught.value.failed == {NEW}


@pytest.mark.requirement("DB-06")
async def test_the_mark_of_an_expired_item_is_found_too(ours: DynamoStore, faults: Faults) -> None:
    """A write of something that is already over, beside a delete that finds nothing the second time."""
    faults.put("TransactWriteItems", [faults.lost_answer])

    await ours.write(Put(NEW, {}, IfAbsent(), expires_at=1), Delete(OLD, IfPresent()))

    assert [item.key for item in await everything(ours)] == [OTHER]

from contextlib import ExitStack, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.toolbox.calling.bulkheads import Bulkheads, InFlight, LimitReached, Permit

IDLE = InFlight(0, 0)
WORKSPACES = st.sampled_from("abcdefghijklmnopqrst")


def refused(bulkheads: Bulkheads, partition: str, server_id: str) -> LimitReached:
    with pytest.raises(LimitReached) as caught:
        bulkheads.enter(partition, server_id)
    return caught.value


@pytest.mark.requirement("REL-17")
@pytest.mark.parametrize(
    ("bulkheads", "other", "which", "text"),
    [
        (Bulkheads(2, 9, 18), "WS#a", "server", "Too many calls to this server are in progress. Try again in 1 s."),
        (
            Bulkheads(9, 2, 18),
            "WS#a",
            "workspace",
            "Too many calls from this workspace are in progress. Try again in 1 s.",
        ),
        (Bulkheads(9, 9, 2), "WS#b", "process", "Too many calls are in progress. Try again in 1 s."),
    ],
    ids=["server", "workspace", "process"],
)
def test_a_call_beyond_a_limit_is_refused_with_retry_after(
    bulkheads: Bulkheads, other: str, which: str, text: str
) -> None:
    slots = [bulkheads.enter(partition, "server_1") for partition in ("WS#a", other)]

    full = refused(bulkheads, "WS#a", "server_1")

    assert (full.which, full.retry_after, str(full)) == (which, 1, text)
    slots[0].leave()
    bulkheads.enter("WS#a", "server_1")


@pytest.mark.requirement("REL-17")
def test_refused_calls_leave_nothing_behind() -> None:
    bulkheads = Bulkheads(per_process=1)
    bulkheads.enter("WS#a", "server_1")

    for number in range(1_000):
        assert refused(bulkheads, f"WS#{number}", "server_1").which == "process"

    assert bulkheads.in_flight() == InFlight(1, 2)


@pytest.mark.requirement("REL-16")
def test_a_server_that_never_answers_fills_its_own_limit_only() -> None:
    bulkheads = Bulkheads()
    for _ in range(64):
        bulkheads.enter("WS#a", "slow")

    assert refused(bulkheads, "WS#a", "slow").which == "server"
    for partition, server_id in [("WS#a", "quick"), ("WS#b", "slow"), ("WS#b", "quick")]:
        for _ in range(64):
            bulkheads.enter(partition, server_id)


def fill(bulkheads: Bulkheads, partition: str, server_id: str = "slow") -> int:
    """Begins calls that do not end, to many servers, until one is refused. Returns how many there are."""
    for number in range(1025):
        try:
            bulkheads.enter(partition, f"{server_id}_{number // 64}")
        except LimitReached:
            return number
    raise AssertionError("nothing was refused")


@pytest.mark.requirement("REL-16")
def test_a_workspace_whose_servers_never_answer_fills_its_own_limit_only() -> None:
    bulkheads = Bulkheads()

    assert fill(bulkheads, "WS#a") == 256
    assert refused(bulkheads, "WS#a", "quick").which == "workspace"
    assert fill(bulkheads, "WS#b") > 150
    assert fill(bulkheads, "WS#c") > 100


def test_a_process_admits_1024_calls() -> None:
    bulkheads = Bulkheads()
    for number in range(1024):
        bulkheads.enter(f"WS#{number}", "server_1")

    assert refused(bulkheads, "WS#new", "server_1").which == "process"


def test_a_workspace_at_its_share_is_refused_with_retry_after() -> None:
    bulkheads = Bulkheads()
    fill(bulkheads, "WS#a")
    fill(bulkheads, "WS#b")

    limit = refused(bulkheads, "WS#b", "quick")

    assert (limit.which, limit.retry_after) == ("share", 1)
    assert str(limit) == (
        "Plugboard is busy, and this workspace has its share of the calls in progress. Try again in 1 s."
    )


@pytest.mark.requirement("REL-16")
@pytest.mark.parametrize(("attackers", "room"), [(4, 50), (12, 10), (30, 2), (80, 1)])
def test_a_newcomer_finds_room_however_many_places_others_hold(attackers: int, room: int) -> None:
    bulkheads = Bulkheads()
    for number in range(attackers):
        assert fill(bulkheads, f"WS#{number}") > 0

    assert fill(bulkheads, "WS#new") >= room


@pytest.mark.requirement("REL-16")
@given(st.lists(st.tuples(st.integers(0, 59), st.integers(1, 300), st.booleans()), max_size=50))
@settings(max_examples=75, deadline=None)
def test_no_order_of_calls_of_sixty_workspaces_keeps_a_newcomer_out(moves: list[tuple[int, int, bool]]) -> None:
    """Workspaces begin calls and end some, in any order; whoever has none in progress is always let in."""
    bulkheads = Bulkheads(per_server=1024)
    inside: dict[int, list[Permit]] = {}
    for workspace, number, enters in moves:
        permits = inside.setdefault(workspace, [])
        for _ in range(number):
            if enters:
                with suppress(LimitReached):
                    permits.append(bulkheads.enter(f"WS#{workspace}", "server_1"))
            elif permits:
                permits.pop().leave()

        assert len(permits) <= 256
        bulkheads.enter("WS#new", "server_1").leave()


@pytest.mark.requirement("REL-16")
def test_places_that_become_free_go_to_those_with_fewer() -> None:
    bulkheads = Bulkheads()
    early = [bulkheads.enter("WS#early", f"slow_{number // 64}") for number in range(256)]
    for number in range(20):
        fill(bulkheads, f"WS#{number}")

    early[0].leave()

    assert refused(bulkheads, "WS#early", "slow_0").which == "share"
    bulkheads.enter("WS#new", "server_1")


def test_releasing_a_permit_twice_counts_once() -> None:
    bulkheads = Bulkheads()
    slot, _ = bulkheads.enter("WS#a", "server_1"), bulkheads.enter("WS#a", "server_1")

    slot.leave()
    slot.leave()

    assert bulkheads.in_flight() == InFlight(1, 2)


def test_a_call_that_raises_releases_its_permit() -> None:
    bulkheads = Bulkheads()

    with suppress(ZeroDivisionError), bulkheads.enter("WS#a", "server_1"):
        assert bulkheads.in_flight().calls == 1
        1 / 0  # noqa: B018  (raises)

    assert bulkheads.in_flight() == IDLE


def test_calls_in_progress_are_counted() -> None:
    bulkheads = Bulkheads()
    with ExitStack() as under_way:
        for server in [("WS#a", "server_1")] * 3 + [("WS#a", "server_2"), ("WS#b", "server_3")]:
            under_way.enter_context(bulkheads.enter(*server))

        assert bulkheads.in_flight() == InFlight(calls=5, counters=3 + 2)
    assert bulkheads.in_flight() == IDLE


class BulkheadMachine(RuleBasedStateMachine):
    """The model is the list of who is in."""

    LIMITS = (3, 5, 18)

    def __init__(self) -> None:
        super().__init__()
        self.bulkheads = Bulkheads(*self.LIMITS)
        self.inside: list[tuple[str, str, Permit]] = []
        self.left: list[Permit] = []

    def full(self, partition: str, server_id: str) -> str | None:
        _, _, places = self.LIMITS
        mine, free = sum(item[0] == partition for item in self.inside), places - len(self.inside)
        counts = {
            "server": sum(item[:2] == (partition, server_id) for item in self.inside),
            "workspace": mine,
            "process": len(self.inside),
            "share": mine,
        }
        limits = (*self.LIMITS, max(1, free**2 // (2 * places)))
        return next((which for which, most in zip(counts, limits, strict=True) if counts[which] >= most), None)

    @rule(servers=st.lists(st.tuples(WORKSPACES, st.sampled_from("xyz")), min_size=1, max_size=8))
    def enter(self, servers: list[tuple[str, str]]) -> None:
        for partition, server_id in servers:
            if which := self.full(partition, server_id):
                assert refused(self.bulkheads, partition, server_id).which == which
            else:
                self.inside.append((partition, server_id, self.bulkheads.enter(partition, server_id)))

    @precondition(lambda self: self.inside)
    @rule(numbers=st.lists(st.integers(0, 8), min_size=1, max_size=8))
    def leave(self, numbers: list[int]) -> None:
        for number in numbers[: len(self.inside)]:
            _, _, slot = self.inside.pop(number % len(self.inside))
            slot.leave()
            self.left.append(slot)

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def leave_again(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.left)).leave()

    @invariant()
    def it_counts_calls_in_progress_and_nothing_else(self) -> None:
        servers = {(partition, server_id) for partition, server_id, _ in self.inside}
        workspaces = {partition for partition, _, _ in self.inside}
        assert self.bulkheads.in_flight() == InFlight(len(self.inside), len(servers) + len(workspaces))

    def teardown(self) -> None:
        for _, _, slot in self.inside:
            slot.leave()
        assert self.bulkheads.in_flight() == IDLE


TestBulkheadsAgainstTheirModel = pytest.mark.requirement("REL-16")(BulkheadMachine.TestCase)
TestBulkheadsAgainstTheirModel.settings = settings(max_examples=75, stateful_step_count=40, deadline=None)

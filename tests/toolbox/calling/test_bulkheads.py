from contextlib import ExitStack, suppress

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.toolbox.calling.bulkheads import Bulkheads, InFlight, LimitReached, Permit

IDLE = InFlight(0, 0)


def refused(bulkheads: Bulkheads, partition: str, server_id: str) -> LimitReached:
    with pytest.raises(LimitReached) as caught:
        bulkheads.enter(partition, server_id)
    return caught.value


@pytest.mark.requirement("REL-17")
@pytest.mark.parametrize(
    ("bulkheads", "which", "text"),
    [
        (Bulkheads(2, 9, 9), "server", "Too many calls to this server are in progress. Try again in 1 s."),
        (Bulkheads(9, 2, 9), "workspace", "Too many calls from this workspace are in progress. Try again in 1 s."),
        (Bulkheads(9, 9, 2), "process", "Too many calls are in progress. Try again in 1 s."),
    ],
    ids=["server", "workspace", "process"],
)
def test_a_call_beyond_a_limit_is_refused_with_retry_after(bulkheads: Bulkheads, which: str, text: str) -> None:
    slots = [bulkheads.enter("WS#a", "server_1") for _ in range(2)]

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


@pytest.mark.requirement("REL-16")
def test_a_workspace_whose_servers_never_answer_fills_its_own_limit_only() -> None:
    bulkheads = Bulkheads()
    for number in range(256):
        bulkheads.enter("WS#a", f"slow_{number % 10}")

    assert refused(bulkheads, "WS#a", "quick").which == "workspace"
    for number in range(256):
        bulkheads.enter("WS#b", f"slow_{number % 10}")


def test_a_process_admits_1024_calls() -> None:
    bulkheads = Bulkheads()
    for number in range(1024):
        bulkheads.enter(f"WS#{number % 100}", "server_1")

    assert refused(bulkheads, "WS#new", "server_1").which == "process"


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

    LIMITS = (3, 5, 9)

    def __init__(self) -> None:
        super().__init__()
        self.bulkheads = Bulkheads(*self.LIMITS)
        self.inside: list[tuple[str, str, Permit]] = []
        self.left: list[Permit] = []

    def full(self, partition: str, server_id: str) -> str | None:
        counts = {
            "server": sum(item[:2] == (partition, server_id) for item in self.inside),
            "workspace": sum(item[0] == partition for item in self.inside),
            "process": len(self.inside),
        }
        return next((which for which, most in zip(counts, self.LIMITS, strict=True) if counts[which] >= most), None)

    @rule(servers=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=8))
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

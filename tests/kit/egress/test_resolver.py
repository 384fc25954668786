import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from ipaddress import ip_address

import pytest

from api.kit.egress.policy import EgressPolicy
from api.kit.egress.resolver import MAX_HANGING, MAX_WAITING_OF_ONE, THREADS_OF_ONE, Resolver, system_lookup
from api.kit.transport_errors import AddressBlocked, ConnectionFailed, TransportTimeout

NAME = "api.example.com"


async def test_a_name_leads_to_each_of_its_addresses_once() -> None:
    names = Resolver(lambda _: ["93.184.215.14", "93.184.215.14", "2606:4700::1111"])

    assert await names.addresses(NAME, EgressPolicy()) == [ip_address("93.184.215.14"), ip_address("2606:4700::1111")]


@pytest.mark.requirement("EGR-21")
@pytest.mark.parametrize(("count", "passes"), [(32, True), (33, False)])
async def test_a_name_has_at_most_32_addresses(count: int, passes: bool) -> None:
    names = Resolver(lambda _: [f"93.184.215.{number}" for number in range(count)])
    if passes:
        assert len(await names.addresses(NAME, EgressPolicy())) == count
    else:
        with pytest.raises(AddressBlocked):
            await names.addresses(NAME, EgressPolicy())


@pytest.mark.parametrize("answer", ["", "localhost", "127.1", "0x7f.1", "93.184.215.14/32"])
async def test_an_invalid_address_from_the_resolver_is_denied(answer: str) -> None:
    names = Resolver(lambda _: [answer])

    with pytest.raises(AddressBlocked):
        await names.addresses(NAME, EgressPolicy())


@pytest.mark.parametrize("error", [OSError("unknown"), UnicodeError("label")])
async def test_an_unknown_name_is_unreachable(error: Exception) -> None:
    def unknown(_: str) -> list[str]:
        raise error

    names = Resolver(unknown)
    with pytest.raises(ConnectionFailed) as caught:
        await names.addresses(NAME, EgressPolicy())

    assert NAME in caught.value.cause
    assert NAME not in str(caught.value)


@pytest.mark.requirement("EGR-21")
async def test_a_silent_name_server_times_out() -> None:
    answers = threading.Event()

    def stuck(_: str) -> list[str]:
        answers.wait(10)
        return []

    names = Resolver(stuck, threads=1, seconds=0.1)
    for _ in range(3):
        with pytest.raises(TransportTimeout) as caught:
            await names.addresses(NAME, EgressPolicy())
        assert not caught.value.sent
    answers.set()


@pytest.mark.requirement("EGR-21")
async def test_a_hanging_name_is_soon_no_longer_looked_up() -> None:
    responses, requested = threading.Event(), Counter[str]()

    def stuck(name: str) -> list[str]:
        requested[name] += 1
        responses.wait(10)
        return []

    names = Resolver(stuck, seconds=0.05)
    for _ in range(2 * MAX_HANGING):
        with pytest.raises((ConnectionFailed, TransportTimeout)):
            await names.addresses(NAME, EgressPolicy())
    responses.set()

    assert requested[NAME] == MAX_HANGING


@pytest.mark.requirement("EGR-21")
async def test_hanging_names_of_one_owner_delay_no_other_owner() -> None:
    responses, begun = threading.Event(), Counter[str]()

    def lookup(name: str) -> list[str]:
        begun[name.partition(".")[2]] += 1
        if name.endswith("evil.example"):
            responses.wait(10)
        return ["93.184.215.14"]

    names = Resolver(lookup, seconds=0.3)
    evil = [
        asyncio.create_task(names.addresses(f"n{n}.evil.example", EgressPolicy(), "evil"))
        for n in range(2 * MAX_WAITING_OF_ONE)
    ]
    await asyncio.sleep(0)
    for _ in range(20):
        assert await names.addresses(NAME, EgressPolicy(), "good") == [ip_address("93.184.215.14")]
    outcomes = Counter(map(type, await asyncio.gather(*evil, return_exceptions=True)))
    responses.set()

    assert outcomes == {ConnectionFailed: MAX_WAITING_OF_ONE, TransportTimeout: MAX_WAITING_OF_ONE}
    assert begun["evil.example"] == THREADS_OF_ONE


async def test_names_of_one_owner_are_resolved_one_at_a_time() -> None:
    at_once, most = Counter[str](), 0
    lock = threading.Lock()

    def lookup(_: str) -> list[str]:
        nonlocal most
        with lock:
            at_once["now"] += 1
            most = max(most, at_once["now"])
        time.sleep(0.001)  # so that the others begin meanwhile
        with lock:
            at_once["now"] -= 1
        return ["93.184.215.14"]

    names = Resolver(lookup)
    results = await asyncio.gather(
        *(names.addresses(f"n{n}.example.com", EgressPolicy(), "one") for n in range(MAX_WAITING_OF_ONE))
    )

    assert results == [[ip_address("93.184.215.14")]] * MAX_WAITING_OF_ONE
    assert most <= THREADS_OF_ONE


async def test_an_abandoned_lookup_releases_its_turn() -> None:
    answers = threading.Event()

    def stuck(_: str) -> list[str]:
        answers.wait(10)
        return ["93.184.215.14"]

    names = Resolver(stuck)
    left = [asyncio.create_task(names.addresses(NAME, EgressPolicy(), "one")) for _ in range(3 * THREADS_OF_ONE)]
    await asyncio.sleep(0)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    answers.set()

    assert await names.addresses(NAME, EgressPolicy(), "one") == [ip_address("93.184.215.14")]


def test_a_process_exits_while_lookups_hang() -> None:
    program = (
        "import asyncio, time\n"
        "from api.kit.egress.resolver import Resolver\n"
        "from api.kit.egress.policy import EgressPolicy\n"
        "async def ask():\n"
        "    await Resolver(lambda _: time.sleep(60), seconds=0.1).addresses('a.example', EgressPolicy())\n"
        "try: asyncio.run(ask())\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True)

    assert ended.stdout.strip() == "TransportTimeout"


def test_the_system_resolver_knows_localhost() -> None:
    assert set(system_lookup("localhost")) <= {"127.0.0.1", "::1"}

import threading
from ipaddress import ip_address

import pytest

from api.kit.outbound import Egress
from api.kit.resolving import MAX_WAITING, Names, system_lookup
from api.kit.wire_errors import Denied, TimedOut, Unreachable

NAME = "api.example.com"


async def test_a_name_leads_to_each_of_its_addresses_once() -> None:
    names = Names(lambda _: ["93.184.215.14", "93.184.215.14", "2606:4700::1111"])

    assert await names.addresses(NAME, Egress()) == [ip_address("93.184.215.14"), ip_address("2606:4700::1111")]
    names.close()


@pytest.mark.requirement("EGR-21")
@pytest.mark.parametrize(("count", "passes"), [(32, True), (33, False)])
async def test_a_name_has_at_most_32_addresses(count: int, passes: bool) -> None:
    names = Names(lambda _: [f"93.184.215.{number}" for number in range(count)])
    if passes:
        assert len(await names.addresses(NAME, Egress())) == count
    else:
        with pytest.raises(Denied):
            await names.addresses(NAME, Egress())
    names.close()


@pytest.mark.parametrize("answer", ["", "localhost", "127.1", "0x7f.1", "93.184.215.14/32"])
async def test_an_answer_that_is_no_address_is_denied(answer: str) -> None:
    names = Names(lambda _: [answer])

    with pytest.raises(Denied):
        await names.addresses(NAME, Egress())
    names.close()


@pytest.mark.parametrize("error", [OSError("unknown"), UnicodeError("label")])
async def test_a_name_that_is_not_known_is_unreachable(error: Exception) -> None:
    def unknown(_: str) -> list[str]:
        raise error

    names = Names(unknown)
    with pytest.raises(Unreachable) as caught:
        await names.addresses(NAME, Egress())
    names.close()

    assert NAME in caught.value.cause
    assert NAME not in str(caught.value)


@pytest.mark.requirement("EGR-21")
async def test_a_name_server_that_does_not_answer_is_waited_for_no_longer_than_allowed() -> None:
    answers = threading.Event()

    def stuck(_: str) -> list[str]:
        answers.wait(10)
        return []

    names = Names(stuck, threads=1, seconds=0.1)
    for _ in range(3):
        with pytest.raises(TimedOut) as caught:
            await names.addresses(NAME, Egress())
        assert not caught.value.sent
    answers.set()
    names.close()


@pytest.mark.requirement("EGR-21")
async def test_only_so_many_wait_for_a_name() -> None:
    names = Names(lambda _: ["93.184.215.14"])
    names._waiting = MAX_WAITING

    with pytest.raises(Unreachable):
        await names.addresses(NAME, Egress())
    names.close()


def test_the_system_knows_localhost() -> None:
    assert set(system_lookup("localhost")) <= {"127.0.0.1", "::1"}

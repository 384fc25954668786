"""Resolves names, and checks every address: if one is not allowed, the name is refused."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from threading import Thread
from weakref import WeakValueDictionary

from api.kit.egress.ip_ranges import Address
from api.kit.egress.policy import EgressPolicy
from api.kit.transport_errors import AddressBlocked, ConnectionFailed, TransportTimeout

SECONDS = 2.0
THREADS, THREADS_OF_ONE = 64, 8
"""Concurrent lookups in all and for one owner, whose name server may not respond. The others wait."""
MAX_WAITING, MAX_WAITING_OF_ONE = 1024, 256
MAX_HANGING = 4
"""Lookups of one name that timed out and have not returned: each occupies a thread until then."""
MAX_ANSWERS = 32

Lookup = Callable[[str], Sequence[str]]
"""Returns the addresses of a name as text, in a thread; raises `OSError` if there are none."""
Lookups = asyncio.Future[Sequence[str]]


def system_lookup(name: str) -> Sequence[str]:
    return [str(answer[4][0]) for answer in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]


class Resolver:
    """Looks names up in daemon threads: the system's lookup cannot be cancelled."""

    def __init__(self, lookup: Lookup = system_lookup, *, threads: int = THREADS, seconds: float = SECONDS) -> None:
        self._lookup = lookup
        self._seconds = seconds
        self._turns = asyncio.Semaphore(threads)
        self._turns_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting: Counter[str] = Counter()
        self._hanging: Counter[str] = Counter()

    async def addresses(self, name: str, egress: EgressPolicy, owner: str = "") -> list[Address]:
        """The current addresses of `name`, without duplicates. No `owner` can delay the others."""
        is_full = self._waiting[owner] >= MAX_WAITING_OF_ONE or self._waiting.total() >= MAX_WAITING
        if is_full or self._hanging[name] >= MAX_HANGING:
            raise ConnectionFailed("too many names are being resolved", sent=False)
        self._waiting[owner] += 1
        try:
            answers = await self._ask(name, owner)
        finally:
            _less(self._waiting, owner)
        return check_answers(name, answers, egress)

    async def _ask(self, name: str, owner: str) -> Sequence[str]:
        asked: Lookups | None = None
        try:
            async with asyncio.timeout(self._seconds):
                asked = self._begun(name, await self._turn(owner))
                return await asyncio.shield(asked)
        except TimeoutError:
            if asked:
                self._hanging[name] += 1
                asked.add_done_callback(lambda _: _less(self._hanging, name))
            raise TransportTimeout(f"{name} was not resolved in {self._seconds} s", sent=False) from None
        except (OSError, UnicodeError) as error:
            raise ConnectionFailed(f"{name} was not resolved: {error}", sent=False) from None

    async def _turn(self, owner: str) -> Callable[[], None]:
        """Returns what releases the turn: called when the thread has returned, also after a timeout."""
        mine = self._turns_of.setdefault(owner, asyncio.Semaphore(THREADS_OF_ONE))
        await mine.acquire()
        is_mine = False
        try:
            await self._turns.acquire()
            is_mine = True
        finally:
            if not is_mine:
                mine.release()
        return partial(_give_back, mine, self._turns)

    def _begun(self, name: str, give_back: Callable[[], None]) -> Lookups:
        loop = asyncio.get_running_loop()
        asked: Lookups = loop.create_future()
        asked.add_done_callback(partial(_returned, give_back))
        try:
            Thread(target=_answer, args=(self._lookup, name, loop, asked), name="names", daemon=True).start()
        except RuntimeError as error:  # no more threads can be started
            asked.set_exception(OSError(str(error)))
        return asked


def _answer(lookup: Lookup, name: str, loop: asyncio.AbstractEventLoop, asked: Lookups) -> None:
    """In the thread. The future is always completed."""
    tell = partial(asked.set_exception, OSError("the lookup itself failed"))
    try:
        tell = partial(asked.set_result, lookup(name))
    except (OSError, UnicodeError) as error:
        tell = partial(asked.set_exception, error)
    finally:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell)


def _returned(give_back: Callable[[], None], asked: Lookups) -> None:
    asked.exception()  # marks the exception as retrieved
    give_back()


def _give_back(*turns: asyncio.Semaphore) -> None:
    for turn in turns:
        turn.release()


def _less(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def check_answers(name: str, answers: Sequence[str], egress: EgressPolicy) -> list[Address]:
    """A public address beside a private one indicates DNS rebinding, so one bad address refuses the name."""
    if not answers:
        raise ConnectionFailed(f"{name} has no address", sent=False)
    if len(answers) > MAX_ANSWERS:
        raise AddressBlocked(f"{name} has {len(answers)} addresses")
    return list(dict.fromkeys(check_address(name, answer, egress) for answer in answers))


def check_address(name: str, answer: str, egress: EgressPolicy) -> Address:
    try:
        address = ip_address(answer)
    except ValueError:
        raise AddressBlocked(f"{name} leads to {answer!r}, which is no address") from None
    if not egress.allows_address(name, address):
        raise AddressBlocked(f"{name} leads to {address}")
    return address

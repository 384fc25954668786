"""Name resolution with a check of every address: one forbidden address blocks the name."""

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
from api.kit.transport_errors import AddressBlocked, ConnectionFailed, Fault, TransportTimeout

SECONDS = 2.0
THREADS, THREADS_OF_ONE = 64, 8
"""Concurrent lookups in total and for one owner, whose name server may not respond. Further lookups wait."""
MAX_WAITING, MAX_WAITING_OF_ONE = 1024, 256
MAX_HANGING = 4
"""Lookups of one name that timed out and have not returned: each occupies a thread until then."""
MAX_ANSWERS = 32

Lookup = Callable[[str], Sequence[str]]
"""Returns the addresses of a name as text, in a thread; raises `OSError` if there are none."""
PendingLookup = asyncio.Future[Sequence[str]]


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
            raise ConnectionFailed("too many names are being resolved", sent=False, fault=Fault.LOOKUP_FAILED)
        self._waiting[owner] += 1
        try:
            answers = await self._resolve(name, owner)
        finally:
            _decrement(self._waiting, owner)
        return check_answers(name, answers, egress)

    async def _resolve(self, name: str, owner: str) -> Sequence[str]:
        pending: PendingLookup | None = None
        try:
            async with asyncio.timeout(self._seconds):
                pending = self._start(name, await self._acquire_turn(owner))
                return await asyncio.shield(pending)
        except TimeoutError:
            if pending:
                self._hanging[name] += 1
                pending.add_done_callback(lambda _: _decrement(self._hanging, name))
            cause = f"{name} was not resolved in {self._seconds} s"
            raise TransportTimeout(cause, sent=False, fault=Fault.LOOKUP_FAILED) from None
        except (OSError, UnicodeError) as error:
            raise ConnectionFailed(f"{name} was not resolved: {error}", sent=False, fault=_fault_of(error)) from None

    async def _acquire_turn(self, owner: str) -> Callable[[], None]:
        """Wait for a turn. Returns the function that releases it, to be called when the thread has returned."""
        owner_turns = self._turns_of.setdefault(owner, asyncio.Semaphore(THREADS_OF_ONE))
        await owner_turns.acquire()
        has_turn = False
        try:
            await self._turns.acquire()
            has_turn = True
        finally:
            if not has_turn:
                owner_turns.release()
        return partial(_release, owner_turns, self._turns)

    def _start(self, name: str, release: Callable[[], None]) -> PendingLookup:
        loop = asyncio.get_running_loop()
        pending: PendingLookup = loop.create_future()
        pending.add_done_callback(partial(_on_return, release))
        try:
            Thread(target=_run_lookup, args=(self._lookup, name, loop, pending), name="names", daemon=True).start()
        except RuntimeError as error:  # no more threads can be started
            pending.set_exception(OSError(str(error)))
        return pending


def _run_lookup(lookup: Lookup, name: str, loop: asyncio.AbstractEventLoop, pending: PendingLookup) -> None:
    """Run a lookup in its thread, and complete the future in any case."""
    complete = partial(pending.set_exception, OSError("the lookup itself failed"))
    try:
        complete = partial(pending.set_result, lookup(name))
    except (OSError, UnicodeError) as error:
        complete = partial(pending.set_exception, error)
    finally:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(complete)


def _fault_of(error: Exception) -> Fault:
    is_temporary = isinstance(error, socket.gaierror) and error.errno in (socket.EAI_AGAIN, socket.EAI_FAIL)
    return Fault.LOOKUP_FAILED if is_temporary else Fault.UNKNOWN_HOST


def _on_return(release: Callable[[], None], pending: PendingLookup) -> None:
    pending.exception()  # marks the exception as retrieved
    release()


def _release(*turns: asyncio.Semaphore) -> None:
    for turn in turns:
        turn.release()


def _decrement(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def check_answers(name: str, answers: Sequence[str], egress: EgressPolicy) -> list[Address]:
    """A public address beside a private one indicates DNS rebinding, so one bad address refuses the name."""
    if not answers:
        raise ConnectionFailed(f"{name} has no address", sent=False, fault=Fault.UNKNOWN_HOST)
    if len(answers) > MAX_ANSWERS:
        raise AddressBlocked(f"{name} has {len(answers)} addresses")
    return list(dict.fromkeys(check_address(name, answer, egress) for answer in answers))


def check_address(name: str, answer: str, egress: EgressPolicy) -> Address:
    try:
        address = ip_address(answer)
    except ValueError:
        raise AddressBlocked(f"{name} leads to {answer!r}, which is not an address") from None
    if not egress.allows_address(name, address):
        raise AddressBlocked(f"{name} leads to {address}")
    return address

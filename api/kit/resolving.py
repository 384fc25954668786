"""Which addresses does a name lead to, and may a connection go to them: all of them, or to none."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address

from api.kit.addresses import Address
from api.kit.outbound import Egress
from api.kit.wire_errors import Denied, TimedOut, Unreachable

SECONDS = 2.0
THREADS = 64
MAX_WAITING = 256
MAX_HANGING = 4
"""Lookups of one name that were given up and have not returned: each holds up a thread until it does."""
MAX_HANGING_OF_ONE = 8
"""The same for all names of one owner, who may have a name server that answers nothing."""
MAX_ANSWERS = 32

Lookup = Callable[[str], Sequence[str]]
"""The addresses of a name as text, asked for in a thread; `OSError` where there are none."""


def system_lookup(name: str) -> Sequence[str]:
    return [str(answer[4][0]) for answer in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]


class Names:
    """Asks in threads of its own: a name server that does not answer holds up other names and nothing else."""

    def __init__(self, lookup: Lookup = system_lookup, *, threads: int = THREADS, seconds: float = SECONDS) -> None:
        self._lookup = lookup
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="names")
        self._seconds = seconds
        self._waiting = 0
        self._hanging: Counter[str] = Counter()
        self._hanging_of: Counter[str] = Counter()
        self._asking: Counter[str] = Counter()

    async def addresses(self, name: str, egress: Egress, owner: str = "") -> list[Address]:
        """What `name` resolves to now, each address once. `owner`: for whom; none holds up the others."""
        if self._waiting >= MAX_WAITING or self._is_hanging(name, owner):
            raise Unreachable("too many names are being resolved", sent=False)
        self._waiting += 1
        self._asking[owner] += 1
        try:
            answers = await self._ask(name, owner)
        finally:
            self._waiting -= 1
            _less(self._asking, owner)
        return admitted(name, answers, egress)

    def _is_hanging(self, name: str, owner: str) -> bool:
        """An owner with names that hang gets no more threads than a few, those included that he waits for."""
        if self._hanging[name] >= MAX_HANGING:
            return True
        hanging = self._hanging_of[owner]
        return bool(owner and hanging) and hanging + self._asking[owner] >= MAX_HANGING_OF_ONE

    def _returned(self, name: str, owner: str, asked: asyncio.Future[Sequence[str]]) -> None:
        """Only now the thread is free, whoever has given up before."""
        _less(self._hanging, name)
        _less(self._hanging_of, owner)
        if not asked.cancelled():
            asked.exception()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, name: str, owner: str) -> Sequence[str]:
        asked = asyncio.get_running_loop().run_in_executor(self._threads, self._lookup, name)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(asked)
        except TimeoutError:
            self._hanging[name] += 1
            self._hanging_of[owner] += 1
            asked.add_done_callback(partial(self._returned, name, owner))
            raise TimedOut(f"{name} was not resolved in {self._seconds} s", sent=False) from None
        except (OSError, UnicodeError) as error:
            raise Unreachable(f"{name} was not resolved: {error}", sent=False) from None


def _less(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def admitted(name: str, answers: Sequence[str], egress: Egress) -> list[Address]:
    """A public answer beside a private one is what rebinding looks like, so one bad answer refuses the name."""
    if not answers:
        raise Unreachable(f"{name} has no address", sent=False)
    if len(answers) > MAX_ANSWERS:
        raise Denied(f"{name} has {len(answers)} addresses")
    return list(dict.fromkeys(judged(name, answer, egress) for answer in answers))


def judged(name: str, answer: str, egress: Egress) -> Address:
    try:
        address = ip_address(answer)
    except ValueError:
        raise Denied(f"{name} leads to {answer!r}, which is no address") from None
    if not egress.admits(name, address):
        raise Denied(f"{name} leads to {address}")
    return address

"""The metrics of all workers as one: the first process asks each worker, and shows the sums."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from api.kit.metrics import Metrics

ANSWER_SECONDS = 1.0
LONGEST_PLACE = 60
"""The path of a socket may have 104 bytes, or 108 on Linux."""
NOT_SUMMED = ("_info", "_timestamp_seconds", "_start_time_seconds", "plugboard_root_keys_missing")
"""Ends of names of gauges whose highest value is shown."""

Families = Mapping[str, Metric]


@contextmanager
def socket_folder() -> Iterator[Path]:
    """A folder for the sockets of the workers, which only this user can enter."""
    place = tempfile.gettempdir()
    short = place if len(place) <= LONGEST_PLACE else "/tmp"  # noqa: S108  the folder in it is this user's alone
    with tempfile.TemporaryDirectory(prefix="plugboard-", dir=short, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@asynccontextmanager
async def worker_listener(folder: Path, metrics: Metrics) -> AsyncIterator[None]:
    """Answer each connection to this worker's socket with its metrics."""
    path = folder / f"{os.getpid()}-{secrets.token_hex(4)}"  # process ids are used again

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await asyncio.to_thread(metrics.text))
        with suppress(OSError):  # the reader may be gone
            await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(answer, path)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


class WorkerMetrics(Collector):
    """Sums of counters never decrease: those of a worker that has ended, or does not answer, stay as last read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[str, Families] = {}
        self._ended: Families = {}
        self._one_at_a_time = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        with self._one_at_a_time:
            answers = asyncio.run(_ask_all(sorted(self._folder.iterdir())))
            for gone in self._last.keys() - answers.keys():
                self._ended = _sum([self._ended, _counted(self._last.pop(gone))])
            silent = [_counted(self._last[name]) for name, got in answers.items() if got is None and name in self._last]
            live = {name: got for name, got in answers.items() if got is not None}
            self._last |= live
            yield from _sum([*live.values(), *silent, self._ended]).values()


async def _ask_all(sockets: Sequence[Path]) -> dict[str, Families | None]:
    """By worker; None if one does not answer. A worker that was killed is left out."""
    texts = await asyncio.gather(*map(_ask, sockets), return_exceptions=True)
    answers: dict[str, Families | None] = {}
    for path, text in zip(sockets, texts, strict=True):
        if isinstance(text, ConnectionRefusedError | FileNotFoundError):
            path.unlink(missing_ok=True)
        elif isinstance(text, BaseException):
            answers[path.name] = None
        else:
            answers[path.name] = {family.name: family for family in text_string_to_metric_families(text)}
    return answers


async def _ask(path: Path) -> str:
    async with asyncio.timeout(ANSWER_SECONDS):
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            return (await reader.read()).decode()
        finally:
            writer.close()


def _counted(families: Families) -> Families:
    return {name: family for name, family in families.items() if family.type != "gauge"}


def _sum(parts: Iterable[Families]) -> Families:
    by_name: defaultdict[str, list[Metric]] = defaultdict(list)
    for part in parts:
        for name, family in part.items():
            by_name[name].append(family)
    return {name: _sum_of_one(families) for name, families in by_name.items()}


def _sum_of_one(families: list[Metric]) -> Metric:
    first = families[0]
    total = Metric(first.name, first.documentation, first.type)
    values: defaultdict[tuple[str, tuple[tuple[str, str], ...]], list[float]] = defaultdict(list)
    for family in families:
        for sample in family.samples:
            values[sample.name, tuple(sample.labels.items())].append(sample.value)
    together = max if first.name.endswith(NOT_SUMMED) else sum
    for (name, labels), of_workers in values.items():
        total.add_sample(name, dict(labels), together(of_workers))
    return total

"""`plugboard doctor`: looks at settings, store, keys, clock, network and services, and says what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal
from urllib.parse import urlsplit

from api.access.peppers import SYSTEM
from api.kit.clock import SystemClock, rfc3339
from api.kit.crypto.data_keys import HEAD, KeyRing
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import RootKeyUnavailable
from api.kit.egress.policy import UrlRefused, check_url
from api.kit.storage.store import Key, StoreUnavailable
from api.kit.transport_errors import TransportError
from api.main.commands import partitions
from api.main.container import DATABASE, Container, build_container, open_store
from api.main.environment_check import environment_problems
from api.main.settings import InvalidSetting, Settings
from integrations import Service, services

SLOW_READ_SECONDS = 0.1
LEAST_FREE_BYTES = 1_000_000_000
MOST_SKEW_SECONDS = 60
REQUEST_SECONDS = 5.0
LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Finding:
    level: Literal["ok", "warning", "error"]
    area: str
    text: str

    def __str__(self) -> str:
        return f"{self.level:8} {self.area}: {self.text}"


async def run_doctor(settings: Settings, args: argparse.Namespace) -> None:
    """Prints a line for each finding. The exit code is 1 if there is an error."""
    has_error = False
    async for finding in _findings(settings, is_offline=args.offline):
        sys.stdout.write(f"{finding}\n")
        has_error |= finding.level == "error"
    if has_error:
        sys.exit(1)


async def _findings(settings: Settings, *, is_offline: bool) -> AsyncIterator[Finding]:
    for finding in (*_settings(settings), *_public_url(settings), *_services(settings)):
        yield finding
    missing = _missing_data(settings)
    if missing:
        yield missing
        return
    try:
        finding = await _store(settings)
        yield finding
        if finding.level == "error":
            return
        container = await build_container(settings)
    except (InvalidSetting, StoreUnavailable, RootKeyUnavailable, CannotOpen) as error:
        yield Finding("error", "store and keys", str(error))
        return
    try:
        async for finding in _opened(container, is_offline=is_offline):
            yield finding
    finally:
        await container.close()


async def _opened(container: Container, *, is_offline: bool) -> AsyncIterator[Finding]:
    yield await _keys(container)
    if is_offline:
        return
    for finding in await asyncio.gather(*(_vendor(container, service) for service in services().values())):
        yield finding


def _settings(settings: Settings) -> Iterator[Finding]:
    problems = environment_problems(settings.given, services().values())
    for problem in problems:
        yield Finding("warning", "settings", problem)
    if not problems:
        given = sorted(Settings.variables() & settings.given)
        yield Finding("ok", "settings", f"{', '.join(given) or 'all defaults'}.")


def _public_url(settings: Settings) -> Iterator[Finding]:
    url = urlsplit(settings.public_url)
    if url.scheme == "https" or url.hostname in LOCAL:
        yield Finding("ok", "public URL", f"{settings.public_url}; browsers return to it after connecting.")
    else:
        text = f"{settings.public_url} is not https: set OAUTH_REDIRECT_BASE_URL to the https URL that browsers use."
        yield Finding("error", "public URL", text)


def _services(settings: Settings) -> Iterator[Finding]:
    by_oauth = [service for service in services().values() if service.oauth]
    with_app = [service.title for service in by_oauth if service.env_prefix in settings.oauth_apps]
    without = [
        f"{service.title} ({service.client_id_variable}, {service.client_secret_variable})"
        for service in by_oauth
        if service.env_prefix not in settings.oauth_apps
        and not settings.given & {service.client_id_variable, service.client_secret_variable}  # half-set: a warning
    ]
    lacking = f" Not set, so these cannot be connected by OAuth: {', '.join(without)}." if without else ""
    yield Finding("ok", "OAuth apps", f"{', '.join(with_app) or 'none'}.{lacking}")


def _missing_data(settings: Settings) -> Finding | None:
    if settings.store != "sqlite" or (settings.data_dir / DATABASE).exists():
        return None
    text = f"there is no database in {settings.data_dir.absolute()} (PLUGBOARD_DATA_DIR); `plugboard serve` makes one."
    return Finding("error", "store", text)


async def _store(settings: Settings) -> Finding:
    """Reads the store before anything could create keys in an empty one."""
    store = open_store(settings, SystemClock())
    try:
        started = time.perf_counter()
        head = await store.get(Key(SYSTEM, HEAD))
        seconds = time.perf_counter() - started
    finally:
        await store.close()
    if head is None:
        return Finding("error", "store", f"the {settings.store} store is empty; `plugboard serve` sets it up.")
    free = shutil.disk_usage(settings.data_dir).free if settings.store == "sqlite" else None
    if free is not None and free < LEAST_FREE_BYTES:
        return Finding("warning", "store", f"only {free / 1e6:,.0f} MB are free on the disk of {settings.data_dir}.")
    level: Literal["ok", "warning"] = "ok" if seconds < SLOW_READ_SECONDS else "warning"
    return Finding(level, "store", f"{settings.store}; a read took {seconds * 1000:.1f} ms.")


async def _keys(container: Container) -> Finding:
    """Whether the configured root keys open the data keys of the installation and of all workspaces."""
    names = [name async for name in partitions(container, None)]
    unreadable = [name for name in names if not await _opens(container.key_ring, name)]
    newest = max([str(item.data.get("createdAt", "")) for item in await container.key_ring.keys(SYSTEM)], default="")
    if unreadable:
        return Finding("error", "keys", f"no configured root key opens the data keys of {', '.join(unreadable[:5])}.")
    if newest > rfc3339(container.clock.now() + MOST_SKEW_SECONDS):
        return Finding("error", "clock", f"the machine's clock is behind: a data key was created at {newest}.")
    count = f"{len(names) - 1} workspace{'s' * (len(names) != 2)}"  # noqa: PLR2004  # SYSTEM and one more
    return Finding("ok", "keys", f"root key {container.root_keys.id!r} seals; the data keys of {count} open.")


async def _opens(keys: KeyRing, partition: str) -> bool:
    try:
        await keys.active(partition)
    except CannotOpen:
        return False
    return True


async def _vendor(container: Container, service: Service) -> Finding:
    """Whether a service can be reached, and whether it and this machine agree on the time."""
    access, settings = container.connections.auth_http.vendors, container.settings
    url = settings.address(service.variable("API_BASE_URL")) or service.api_base_url or service.urls[0]
    area = f"network, {service.title}"
    try:
        target = check_url(url, access.egress)
        async with access.outbound.request("GET", target, {}, pool="doctor", seconds=REQUEST_SECONDS) as response:
            skew = _skew(response.headers.get("date"), container.clock.now())
    except UrlRefused as refused:
        return Finding("warning", area, f"{url} is refused: {refused}")
    except TransportError as error:
        return Finding("warning", area, f"{url} cannot be reached: {error.cause}.")
    if skew is not None and abs(skew) > MOST_SKEW_SECONDS:
        return Finding("error", "clock", f"the machine's clock and that of {url} differ by {skew:.0f} s.")
    return Finding("ok", area, f"{url} answers.")


def _skew(date: str | None, now: float) -> float | None:
    try:
        return now - parsedate_to_datetime(date).timestamp() if date else None
    except ValueError:
        return None

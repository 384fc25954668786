"""Start and stop of server processes."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

import uvicorn
from prometheus_client import CollectorRegistry, start_http_server
from uvicorn.supervisors import Multiprocess

from api.kit.metrics import Metrics
from api.main.settings import InvalidSetting, Settings
from api.main.worker_app import APP, WorkerApp
from api.main.worker_metrics import WorkerMetrics, socket_folder, worker_listener

PR_SET_DUMPABLE = 4

log = logging.getLogger(__name__)


def harden_process() -> None:
    """Files readable by their owner only, no core dumps, and no access to memory for other processes."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (most, most)
    )  # connections are files: idle ones must not use up the limit
    with suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def check_bindable(settings: Settings) -> None:
    """Check in advance, so that a failed start leaves nothing behind."""
    _check_bindable(settings.host, settings.port, "PLUGBOARD_HOST", "PLUGBOARD_PORT")
    port = settings.metrics_port
    if port and port == settings.port:
        raise InvalidSetting("PLUGBOARD_METRICS_PORT", f"the API itself listens on port {port}. Set another port.")
    if port:
        _check_bindable(settings.metrics_host, port, "PLUGBOARD_METRICS_HOST", "PLUGBOARD_METRICS_PORT")


def _check_bindable(host: str, port: int, host_variable: str, port_variable: str) -> None:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in addresses:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except socket.gaierror as error:
        raise InvalidSetting(host_variable, f"{host} is not an address of this machine.") from error
    except OSError as error:
        variable = port_variable if error.errno in (errno.EADDRINUSE, errno.EACCES) else host_variable
        reason = os.strerror(error.errno or 0)
        hint = " Stop the process that listens there, or set another port." if error.errno == errno.EADDRINUSE else ""
        raise InvalidSetting(variable, f"cannot listen on {host}, port {port}: {reason}.{hint}") from error


@asynccontextmanager
async def metrics_listener(settings: Settings, metrics: Metrics, workers: Path | None = None) -> AsyncIterator[None]:
    """Serve this process's metrics without an API key, or answer the first process, which serves those of all."""
    if workers:
        async with worker_listener(workers, metrics):
            yield
        return
    server = await asyncio.to_thread(_listen, settings, metrics.registry)
    try:
        yield
    finally:
        if server:
            await asyncio.to_thread(_stop, server)


def _listen(settings: Settings, registry: CollectorRegistry) -> WSGIServer | None:
    if not settings.metrics_port:
        return None
    try:
        return start_http_server(settings.metrics_port, settings.metrics_host, registry)[0]
    except OSError as error:  # serving matters more than metrics
        detail = f"{settings.metrics_host}, port {settings.metrics_port}: {os.strerror(error.errno or 0)}"
        log.error("metrics are not served", extra={"detail": detail})  # noqa: TRY400  # the reason is in the line
        return None


def _stop(server: WSGIServer) -> None:
    server.shutdown()
    server.server_close()


def run(settings: Settings, **options: Any) -> None:
    all_options = options | {
        "factory": True,
        "host": settings.host,
        "port": settings.port,
        "workers": settings.workers,
        "limit_concurrency": settings.max_connections,
        "proxy_headers": False,  # `ClientAddresses` reads them, and takes nothing but addresses
    }
    if settings.workers > 1:
        with _worker_metrics(settings) as folder:
            config = uvicorn.Config(WorkerApp(folder), **all_options)
            _Workers(config, sockets=[config.bind_socket()]).run()
    else:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)  # uvicorn raises the signal again when everything has finished
        uvicorn.run(APP, **all_options)


@contextmanager
def _worker_metrics(settings: Settings) -> Iterator[Path | None]:
    """Serve the sums over all workers, if metrics are to be served."""
    if not settings.metrics_port:
        yield None
        return
    with socket_folder() as folder:
        registry = CollectorRegistry()
        registry.register(WorkerMetrics(folder))
        server = _listen(settings, registry)
        yield folder
        if server:
            _stop(server)


class _Workers(Multiprocess):
    def terminate_all(self) -> None:
        for listening in self.sockets:
            listening.close()  # otherwise the kernel would accept connections that no process serves
        super().terminate_all()


def _end(*_: object) -> None:
    sys.exit(0)

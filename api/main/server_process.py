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
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from wsgiref.simple_server import WSGIServer

import uvicorn
from prometheus_client import start_http_server
from uvicorn.supervisors import Multiprocess

from api.kit.metrics import Metrics
from api.main.settings import InvalidSetting, Settings

PR_SET_DUMPABLE = 4
THIS_MACHINE = "127.0.0.1"

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
    for port in metrics_ports(settings):
        if port == settings.port:
            raise InvalidSetting("PLUGBOARD_METRICS_PORT", f"the API itself listens on port {port}. Set another port.")
        _check_bindable(THIS_MACHINE, port, "PLUGBOARD_METRICS_PORT", "PLUGBOARD_METRICS_PORT")


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


def metrics_ports(settings: Settings) -> range:
    """A port for each process, since each has its own metrics."""
    return range(settings.metrics_port, settings.metrics_port + settings.workers) if settings.metrics_port else range(0)


@asynccontextmanager
async def metrics_listener(settings: Settings, metrics: Metrics) -> AsyncIterator[None]:
    """Serve metrics without an API key, reachable from this machine only."""
    server = await asyncio.to_thread(_listen, settings, metrics)
    try:
        yield
    finally:
        if server:
            await asyncio.to_thread(server.shutdown)
            server.server_close()


def _listen(settings: Settings, metrics: Metrics) -> WSGIServer | None:
    """Listen on the first free port, so that a replaced process's port is used again.

    Two processes that try the same port at the same time may both fail, so each tries twice.
    """
    ports = metrics_ports(settings)
    for port in (*ports, *ports):
        with suppress(OSError):
            return start_http_server(port, THIS_MACHINE, metrics.registry)[0]
    if ports:  # serving matters more than metrics
        log.error("no free port for metrics", extra={"detail": f"{ports[0]} to {ports[-1]} are taken"})
    return None


def run(settings: Settings, **options: Any) -> None:
    all_options = options | {
        "factory": True,
        "host": settings.host,
        "port": settings.port,
        "workers": settings.workers,
        "limit_concurrency": settings.max_connections,
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": settings.trusted_proxies or None,
    }
    if settings.workers > 1:
        config = uvicorn.Config("api.main.asgi:app", **all_options)
        _Workers(config, sockets=[config.bind_socket()]).run()
    else:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)  # uvicorn raises the signal again when everything has finished
        uvicorn.run("api.main.asgi:app", **all_options)


class _Workers(Multiprocess):
    def terminate_all(self) -> None:
        for listening in self.sockets:
            listening.close()  # otherwise the kernel would accept connections that no process serves
        super().terminate_all()


def _end(*_: object) -> None:
    sys.exit(0)

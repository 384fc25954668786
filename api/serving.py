"""How do the processes that serve begin and end?"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from api.settings import BadSetting, Settings

PR_SET_DUMPABLE = 4


def keep_to_itself() -> None:
    """Files for their owner alone, no memory in a core dump, none of it for another process to read."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a connection is a file: idle ones must not use them up
    with suppress(OSError, AttributeError):  # Linux only
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def check_address(settings: Settings) -> None:
    """Told in advance, so that nothing is made for a start that cannot succeed."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except socket.gaierror as error:
        raise BadSetting("PLUGBOARD_HOST", f"{settings.host} is not an address of this machine.") from error
    except OSError as error:
        variable = "PLUGBOARD_PORT" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "PLUGBOARD_HOST"
        why = os.strerror(error.errno or 0)
        hint = " Stop what listens there, or set another port." if error.errno == errno.EADDRINUSE else ""
        raise BadSetting(variable, f"cannot listen on {settings.host}, port {settings.port}: {why}.{hint}") from error


def run(settings: Settings, **served: Any) -> None:
    options = served | {
        "factory": True,
        "host": settings.host,
        "port": settings.port,
        "workers": settings.workers,
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": settings.trusted_proxies or None,
    }
    if settings.workers > 1:
        config = uvicorn.Config("api.asgi:app", **options)
        _Workers(config, sockets=[config.bind_socket()]).run()
    else:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)  # uvicorn raises it again when all is finished
        uvicorn.run("api.asgi:app", **options)


class _Workers(Multiprocess):
    def terminate_all(self) -> None:
        for listening in self.sockets:
            listening.close()  # or the kernel would go on taking in callers whom nobody will answer
        super().terminate_all()


def _end(*_: object) -> None:
    sys.exit(0)

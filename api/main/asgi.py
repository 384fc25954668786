"""The ASGI app of a server process, one for each worker."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from litestar.types import ASGIApp

from api.kit import logs
from api.main.app import create_app
from api.main.server_process import harden_process
from api.main.settings import Settings

COLLECT_AFTER = (10_000, 20, 10)


def app(workers: Path | None = None) -> ASGIApp:
    """`workers`: the folder for the sockets from which the first process reads the metrics of all."""
    harden_process()  # each worker is a separate process
    logs.configure()
    asgi_app = create_app(Settings.from_environment(os.environ), access_log=logs.RequestLog(), workers=workers)
    tune_garbage_collector()
    return asgi_app


def tune_garbage_collector() -> None:
    """Exclude the existing objects, which live as long as the process, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)

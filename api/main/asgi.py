"""The ASGI app of a server process, one for each worker."""

from __future__ import annotations

import gc
import os

from litestar.types import ASGIApp

from api.kit import logs
from api.main.app import create_app
from api.main.server_process import harden_process
from api.main.settings import Settings

COLLECT_AFTER = (10_000, 20, 10)


def app() -> ASGIApp:
    harden_process()  # a worker is a process of its own
    logs.configure()
    made = create_app(Settings.from_environment(os.environ), note=logs.RequestLog())
    tune_garbage_collector()
    return made


def tune_garbage_collector() -> None:
    """Objects that exist now stay until the end: the collector ignores them, and looks at others less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)

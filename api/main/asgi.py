"""What a server process runs: one of these a worker."""

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
    """What is there by now stays until the end: the collector need not look at it again, and at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)

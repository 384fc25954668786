"""What a server process runs: one of these a worker."""

from __future__ import annotations

import os

from litestar.types import ASGIApp

from api.app import create_app
from api.kit import logs
from api.settings import Settings


def app() -> ASGIApp:
    logs.configure()
    return create_app(Settings.from_environment(os.environ))

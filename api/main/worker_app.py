"""The app of a worker process, as it travels to the worker: light, since a worker must answer its parent in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uvicorn.importer import import_from_string

APP = "api.main.asgi:app"


@dataclass(frozen=True, slots=True)
class WorkerApp:
    """Imports the app only when it is called, after the worker has begun to answer."""

    sockets: Path | None

    def __call__(self) -> Any:
        return import_from_string(APP)(self.sockets)

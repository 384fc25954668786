"""Many upstream apps behind one port."""

from __future__ import annotations

from itertools import count
from typing import Any

from litestar.types import ASGIApp


class UpstreamHost:
    """An ASGI app that routes by the first segment of the path."""

    def __init__(self) -> None:
        self.url = ""
        """Where it is served, once it is."""
        self._apps: dict[str, ASGIApp] = {}
        self._numbers = count(1)

    def mount(self, app: ASGIApp) -> str:
        """Mounts an app and returns its URL."""
        house = f"house-{next(self._numbers)}"
        self._apps[house] = app
        return f"{self.url}/{house}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _handle_lifespan(receive, send)
            return
        _, house, rest = scope["path"].split("/", 2)
        await self._apps[house]({**scope, "path": f"/{rest}"}, receive, send)


async def _handle_lifespan(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})

"""The floor: a Litestar app that returns fixed bytes and runs with the same server settings as the product."""

from __future__ import annotations

import sys
from pathlib import Path

import uvicorn
from litestar import Litestar, MediaType, get

from api.main import commands
from api.main.asgi import tune_garbage_collector
from api.servers.routes import SERVER, SERVERS

ONE, MANY = "one.json", "many.json"


def bare_app(answers: Path) -> Litestar:
    one, many = ((answers / name).read_bytes() for name in (ONE, MANY))

    @get(SERVER, media_type=MediaType.JSON)
    async def answer_one() -> bytes:
        return one

    @get(SERVERS, media_type=MediaType.JSON)
    async def answer_many() -> bytes:
        return many

    return Litestar([answer_one, answer_many], openapi_config=None, logging_config=None)


if __name__ == "__main__":
    app = bare_app(Path(sys.argv[2]))
    tune_garbage_collector()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), **commands.UVICORN_OPTIONS)

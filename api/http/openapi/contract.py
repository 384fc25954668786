"""Prints the contract; `make openapi` writes it to openapi.yaml."""

from __future__ import annotations

import sys

from api.main.app import build_router_app
from api.main.settings import Settings


def main() -> None:
    sys.stdout.buffer.write(build_router_app(Settings()).state.openapi.yaml)


if __name__ == "__main__":
    main()

"""The published forms of the OpenAPI document: YAML, and a page with its scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property

from litestar import Litestar

from api.errors import NotFound
from api.http.openapi.generate import as_yaml, build_contract
from api.http.openapi.published_file import PublishedFile
from api.http.openapi.reference_page import reference_page, scripts

YAML = "application/yaml"


class PublishedContract:
    """Generating, reading and compressing take long enough to need a thread, once."""

    def __init__(self, app: Litestar) -> None:
        self._app = app

    async def document(self) -> PublishedFile:
        return await asyncio.to_thread(lambda: self._document)

    async def page(self) -> PublishedFile:
        return await asyncio.to_thread(lambda: self._page)

    async def script(self, name: str) -> PublishedFile:
        files = await asyncio.to_thread(lambda: self._scripts)
        if name not in files:
            raise NotFound("There is no such file. The page that needs it is at /docs.")
        return files[name]

    @cached_property
    def yaml(self) -> bytes:
        return as_yaml(build_contract(self._app)).encode()

    @cached_property
    def _document(self) -> PublishedFile:
        return PublishedFile.of(self.yaml, YAML)

    @cached_property
    def _scripts(self) -> Mapping[str, PublishedFile]:
        return scripts()

    @cached_property
    def _page(self) -> PublishedFile:
        return reference_page(self._scripts)

"""What is published of the contract: written when somebody first asks for it, since most processes never are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from litestar import Litestar

from api.http.openapi.docs_page import docs_page
from api.http.openapi.generate import as_yaml, build_contract


class OpenApiCache:
    """Asked in a thread: it takes long enough for others to notice."""

    def __init__(self, app: Litestar) -> None:
        self._app = app

    @cached_property
    def yaml(self) -> bytes:
        return as_yaml(self._document).encode()

    @cached_property
    def page(self) -> bytes:
        return docs_page(self._document)

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        return build_contract(self._app)

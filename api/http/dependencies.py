"""The annotations with which a handler declares its dependencies, for Litestar's injection by name.

The providers are in `api.main.dependencies`.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from litestar.di import NamedDependency
from litestar.params import HeaderParameter, SkipValidation

T = TypeVar("T")

Injected: TypeAlias = NamedDependency[SkipValidation[T]]
"""A dependency. Its provider is typed, so the value need not be checked for each request."""

IfMatch = Annotated[str | None, HeaderParameter(name="If-Match")]

"""A value that must never be printed, logged, pickled or put into JSON by accident."""

from __future__ import annotations

import hmac
from typing import NoReturn, Self

HIDDEN = "***"


class Secret:
    """Bytes that only `reveal` returns. Every other way to show the value shows `***`."""

    __slots__ = ("__value",)

    def __init__(self, value: bytes | str) -> None:
        self.__value = value.encode() if isinstance(value, str) else bytes(value)

    def reveal(self) -> bytes:
        return self.__value

    def reveal_text(self) -> str:
        return self.__value.decode()

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __len__(self) -> int:
        return len(self.__value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self.__value, other.__value)

    __hash__ = None  # type: ignore[assignment]  # a hash would reveal something about the secret

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        message = "a Secret does not leave the process"
        raise TypeError(message)

    __getstate__ = __reduce__  # some libraries pickle through this

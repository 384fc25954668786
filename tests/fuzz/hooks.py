"""Hooks of schemathesis for rules that the contract cannot express."""

import re
from itertools import count
from typing import Any

import schemathesis
from schemathesis import Case, HookContext
from schemathesis.generation.meta import TestPhase

from api.access.idempotency.creates import HEADER

_calls = count()
_GOOD = re.compile(r"[\x21-\x7e]{1,200}")  # with room for the number


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:  # noqa: ARG001  # the names count
    """In a chain of calls, a good Idempotency-Key is sent once only.

    Sent again after the thing was deleted it is answered with what was made then, as it should be; schemathesis takes
    that for a thing that was made and cannot be found. That a key is honoured has tests of its own.
    """
    if case.meta is None or case.meta.phase.name is not TestPhase.STATEFUL:
        return
    values = str(dict(case.headers or {}).get(HEADER, ""))
    if _GOOD.fullmatch(values):
        case.headers[HEADER] = f"{values}-{next(_calls)}"

"""One workspace cannot hold all of a process by beginning connections to servers that do not answer."""

from __future__ import annotations

import pytest

from api.connections.consent.tickets import FOR_A_WORKSPACE, ConsentStartLimit
from api.errors import ServiceUnavailable


@pytest.mark.requirement("REL-16")
def test_concurrent_connects_are_limited_per_workspace() -> None:
    starts = ConsentStartLimit()
    entered = [starts.enter("greedy") for _ in range(FOR_A_WORKSPACE)]
    for item in entered:
        item.__enter__()

    with pytest.raises(ServiceUnavailable), starts.enter("greedy"):
        pass
    with starts.enter("modest"):
        pass
    entered[0].__exit__(None, None, None)
    with starts.enter("greedy"):
        pass

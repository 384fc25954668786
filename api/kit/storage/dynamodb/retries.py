"""Retries of calls to DynamoDB, and the meaning of their failures.

botocore is configured to try once: two nested retry loops multiply, and only the loop that counts every attempt knows
whether a lost answer may stand for a write that happened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnection

from api.kit.backoff import Backoff
from api.kit.clock import Clock
from api.kit.storage.store import StoreUnavailable

READ_PATIENCE_SECONDS = 5.0
WRITE_PATIENCE_SECONDS = 10.0
MOST_TRIES = 20  # the time limit is reached first, unless the clock stops
PAUSES = Backoff(first=0.05, longest=1.0, jitter=(0, 1))
SPARE_TRIES = 200.0
EARNED_TRIES = 0.5

CONTENDED = frozenset({"TransactionConflict", "TransactionInProgressException"})
THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingError",
        "ThrottlingException",
    }
)
SERVER_ERROR = 500
HINTS = {"ResourceNotFoundException": ": no such table. Check PLUGBOARD_TABLE, or run `plugboard table create`"}

Answer = Mapping[str, Any]
Reasons = Sequence[Mapping[str, Any]]


class TransactionCancelled(Exception):
    """Conditions of a transaction did not hold. `in_doubt`: an earlier attempt may have succeeded."""

    def __init__(self, reasons: Reasons, *, in_doubt: bool) -> None:
        super().__init__("conditions did not hold")
        self.reasons = reasons
        self.in_doubt = in_doubt


@dataclass(frozen=True, slots=True)
class CallFailure:
    text: str
    retryable: bool = False
    spends_budget: bool = False
    """DynamoDB is overloaded or unreachable, so a retry takes from the shared budget."""

    maybe_applied: bool = False
    """The write may have happened, although the call failed."""

    reasons: Reasons = ()
    """Of conditions that did not hold."""


class RetryBudget:
    """Retries that all calls share. Successes earn them, so that an outage does not cause a storm of retries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = SPARE_TRIES

    def earn(self) -> None:
        with self._lock:
            self._left = min(SPARE_TRIES, self._left + EARNED_TRIES)

    def spend(self) -> bool:
        with self._lock:
            if self._left < 1:
                return False
            self._left -= 1
            return True


class RetryingClient:
    def __init__(self, clock: Clock, pause: Callable[[float], None]) -> None:
        self._clock = clock
        self._pause = pause
        self._spare = RetryBudget()

    def make(self, send: Callable[[], Answer], patience: float) -> Answer:
        """Returns the response of `send`. Raises `TransactionCancelled`, or `StoreUnavailable` after the last retry."""
        deadline, in_doubt = self._clock.monotonic() + patience, False
        attempts = 0
        while True:
            attempts += 1
            outcome = _outcome(send)
            if not isinstance(outcome, CallFailure):
                self._spare.earn()
                return outcome
            in_doubt = in_doubt or outcome.maybe_applied
            if outcome.reasons:
                raise TransactionCancelled(outcome.reasons, in_doubt=in_doubt)
            pause = PAUSES.pause(attempts - 1)
            if attempts == MOST_TRIES or self._clock.monotonic() + pause >= deadline or not self._may_repeat(outcome):
                raise StoreUnavailable(outcome.text)
            self._pause(pause)

    def _may_repeat(self, failure: CallFailure) -> bool:
        return failure.retryable and (not failure.spends_budget or self._spare.spend())

    def wait(self, attempts: int) -> None:
        self._pause(PAUSES.pause(attempts - 1))


def _outcome(send: Callable[[], Answer]) -> Answer | CallFailure:
    """Failures are returned, not raised, so that no error has botocore's as context, which may quote a token."""
    try:
        return send()
    except ClientError as error:
        return _client_error(error)
    except BotoCoreError as error:
        lost = isinstance(error, HTTPClientError | NoConnection)
        return CallFailure(
            f"DynamoDB cannot be reached: {type(error).__name__}",
            retryable=lost,
            spends_budget=lost,
            maybe_applied=lost,
        )


def _client_error(error: ClientError) -> CallFailure:
    code = str(error.response.get("Error", {}).get("Code", "an unnamed error"))
    text = f"DynamoDB answered {code}" + HINTS.get(code, "")
    if code == "TransactionCanceledException":
        return _transaction_cancelled(error.response.get("CancellationReasons", ()), text)
    if code in CONTENDED:
        return CallFailure(text, retryable=True)
    if code in THROTTLED:
        return CallFailure(text, retryable=True, spends_budget=True)
    failed = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= SERVER_ERROR
    return CallFailure(text, retryable=failed, spends_budget=failed, maybe_applied=failed)


def _transaction_cancelled(reasons: Reasons, text: str) -> CallFailure:
    codes = {str(reason.get("Code", "None")) for reason in reasons} - {"None"}
    text = f"{text}: {', '.join(sorted(codes))}"
    if "ConditionalCheckFailed" in codes:
        return CallFailure(text, reasons=reasons)
    is_retryable = bool(codes) and codes <= CONTENDED | THROTTLED
    return CallFailure(text, retryable=is_retryable, spends_budget=is_retryable and bool(codes & THROTTLED))

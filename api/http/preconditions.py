"""The conditions of a change: the versions that it names, and the read-only fields that it sends back."""

from __future__ import annotations

from api.errors import FieldError, PreconditionFailed, ValidationFailed
from api.http.models import PatchModel, ResponseModel
from api.http.responses import etag

VERSION = "version"
LARGEST = 2**63 - 1


def check_if_match(header: str | None, version: int) -> None:
    """RFC 9110 strong comparison: `*` or a listed tag that is current satisfies the condition.

    A number without quotes is read as a tag, because many clients send the `version` of the object.
    """
    if header is None:
        return
    tags = [tag.strip() for tag in header.split(",")]
    if "*" not in tags and etag(version) not in tags and str(version) not in tags:
        raise PreconditionFailed


def check_change(change: PatchModel, if_match: str | None, version: int, current: ResponseModel) -> None:
    """`current` is the object as it is shown now. Its version in a body is a condition like `If-Match`."""
    check_if_match(if_match, version)
    sent = dict(change.sent_back)
    if _number(sent.pop(VERSION, version)) != version:
        raise PreconditionFailed
    shown = current.model_dump(mode="json", by_alias=True)
    errors = [
        FieldError(name, "Read-only: omit it, or send it as it was read.")
        for name, value in sent.items()
        if not (_is_texts(value) if name in current.computed else name in shown and value == shown[name])
    ]
    if errors:
        raise ValidationFailed("See `errors` for what to change.", errors=errors)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _number(version: object) -> int:
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= LARGEST:
        raise ValidationFailed.at(VERSION, "Must be a whole number: the version that was read.")
    return version

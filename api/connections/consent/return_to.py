"""The URL that the browser is sent to at the end: only a path of ours, or an origin that the operator has allowed."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlencode

from api.errors import ValidationFailed

MAX_LENGTH = 1000
RESULT = "/connected"
_PATH = r"/(?![/\\])[A-Za-z0-9._~!$&'()*+,;=:@%/-]*(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?"
_OWN_PATH = re.compile(_PATH)
_URL = re.compile(rf"(https?://[a-z0-9.-]+(?::[0-9]{{1,5}})?)({_PATH})?")
_ENCODED_SLASH = re.compile(r"%(?:0[0-9a-f]|1[0-9a-f]|2f|5c|7f)", re.IGNORECASE)  # slashes and control characters


def check_return_to(text: str | None, origins: Collection[str]) -> str | None:
    if text is None:
        return None
    if len(text) > MAX_LENGTH:
        raise ValidationFailed.at("returnTo", f"At most {MAX_LENGTH} characters.")
    if not _ENCODED_SLASH.search(text.partition("?")[0]):
        if _OWN_PATH.fullmatch(text) and "//" not in text.partition("?")[0]:
            return text
        url = _URL.fullmatch(text)
        if url and url[1] in origins:
            return text
    raise ValidationFailed.at(
        "returnTo",
        "Must be a path of Plugboard, such as /docs, or a URL at an origin of PLUGBOARD_RETURN_ORIGINS, without a "
        "fragment.",
    )


def result_url(return_to: str | None, **outcome: str) -> str:
    url = return_to or RESULT
    return f"{url}{'&' if '?' in url else '?'}{urlencode(outcome)}"

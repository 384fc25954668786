"""Which record is meant by what a model gives for an id: a number, a URL, an email address?"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

from integrations.hubspot.kinds import COMPANIES, CONTACTS, DEALS, KINDS, Kind

_URL = re.compile(r"https?://[^/\s]*hubspot\.com/\S*?/(?:record/(0-[0-9]+)|(contact|company|deal))/([0-9]+)")
_NUMBER = re.compile(r"[0-9]{1,20}")
_EMAIL = re.compile(r"[^@\s/]+@[^@\s/]+\.[^@\s/]+")


def is_email(text: str) -> bool:
    return bool(_EMAIL.fullmatch(text))


def id_of(kind: Kind, given: object) -> str:
    """Nothing stays nothing."""
    text = str(given).strip()
    if link := _URL.match(text):
        return _id_in(link, kind)
    if not text or _NUMBER.fullmatch(text) or (kind is CONTACTS and is_email(text)):
        return text
    also = ", or an email address" if kind is CONTACTS else ""
    raise ValueError(f"the id of a {kind.one} is a number{also}; hubspot_search_{kind.many} finds it by other words")


def _id_in(link: re.Match[str], kind: Kind) -> str:
    type_id, word, number = link.groups()
    meant = next((each for each in KINDS.values() if type_id == each.type_id or word == each.one), None)
    if meant is None:
        raise ValueError(f"that URL is not one of a {kind.one}")
    if meant is not kind:
        raise ValueError(f"that is the URL of a {meant.one}, which hubspot_get_{meant.one} reads")
    return number


ContactId = Annotated[str, BeforeValidator(lambda given: id_of(CONTACTS, given))]
CompanyId = Annotated[str, BeforeValidator(lambda given: id_of(COMPANIES, given))]
DealId = Annotated[str, BeforeValidator(lambda given: id_of(DEALS, given))]

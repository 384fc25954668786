"""Names of the people who write or are mentioned, if the connection may read them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from integrations.errors import UpstreamError
from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.slack.client import SlackApi
from integrations.text import one_line, shorten

SCOPE = "users:read"
MAX_NAME_LENGTH = 80
MAX_USERS = 25
CONCURRENCY = 5
LOOKUP_SECONDS = 3.0
"""The time limit for names; without names, results show IDs."""


class UserNames:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._given_up = False

    def name(self, person: str) -> str | None:
        return self._names.get(person)

    def known_names(self, people: Iterable[str]) -> dict[str, str] | None:
        """The known names by ID."""
        return {person: self._names[person] for person in people if person in self._names} or None

    def remember_author(self, message: Json) -> None:
        """Some messages carry their author's profile."""
        profile, person = message.get("user_profile"), message.get("user")
        if isinstance(profile, dict) and isinstance(person, str) and (name := _name_in(profile)):
            self._names[person] = name

    async def learn(self, api: SlackApi, people: Iterable[str]) -> None:
        """A failure here leaves out names, never messages."""
        unknown = [person for person in dict.fromkeys(people) if person not in self._names][:MAX_USERS]
        if not unknown or not api.has_scope(SCOPE) or api.seconds_left() < 2 * LOOKUP_SECONDS:
            return
        slots = asyncio.Semaphore(CONCURRENCY)
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOKUP_SECONDS):
                await asyncio.gather(*(self._load(api, person, slots) for person in unknown))

    async def _load(self, api: SlackApi, person: str, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._given_up:
                return
            try:
                user = (await api.call_method("users.info", user=person)).get("user")
            except (ToolFailed, UpstreamError):
                self._given_up = True
                return
            if isinstance(user, dict) and (name := _name_of(user)):
                self._names[person] = name


def _name_of(user: Json) -> str:
    profile = user.get("profile")
    return (_name_in(profile) if isinstance(profile, dict) else "") or _name_in(user)


def _name_in(profile: Json) -> str:
    names = (profile.get(field) for field in ("display_name", "real_name", "name"))
    return shorten(one_line(next((str(name) for name in names if name), "")), MAX_NAME_LENGTH)

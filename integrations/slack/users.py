"""Names of the people who write or are mentioned, if the connection may read them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from integrations.errors import UpstreamError
from integrations.json_object import Json
from integrations.service_client import ToolFailed
from integrations.slack.client import SlackApi
from integrations.text import one_line, shortened

RIGHT = "users:read"
LONGEST_NAME = 80
MOST = 25
AT_ONCE = 5
SECONDS = 3.0
"""The time limit for names; without names, results show IDs."""


class UserNames:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._given_up = False

    def name(self, person: str) -> str | None:
        return self._names.get(person)

    def known_names(self, people: Iterable[str]) -> dict[str, str] | None:
        """The known names by ID."""
        return {each: self._names[each] for each in people if each in self._names} or None

    def remember_author(self, message: Json) -> None:
        """Some messages carry their author's profile."""
        profile, person = message.get("user_profile"), message.get("user")
        if isinstance(profile, dict) and isinstance(person, str) and (name := _name_in(profile)):
            self._names[person] = name

    async def learn(self, api: SlackApi, people: Iterable[str]) -> None:
        """A failure here leaves out names, never messages."""
        unknown = [each for each in dict.fromkeys(people) if each not in self._names][:MOST]
        if not unknown or not api.has_scope(RIGHT) or api.seconds_left() < 2 * SECONDS:
            return
        slots = asyncio.Semaphore(AT_ONCE)
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                await asyncio.gather(*(self._ask(api, each, slots) for each in unknown))

    async def _ask(self, api: SlackApi, person: str, slots: asyncio.Semaphore) -> None:
        async with slots:
            if self._given_up:
                return
            try:
                found = (await api.call_method("users.info", user=person)).get("user")
            except (ToolFailed, UpstreamError):
                self._given_up = True
                return
            if isinstance(found, dict) and (name := _name_of(found)):
                self._names[person] = name


def _name_of(user: Json) -> str:
    profile = user.get("profile")
    return (_name_in(profile) if isinstance(profile, dict) else "") or _name_in(user)


def _name_in(profile: Json) -> str:
    named = (profile.get(each) for each in ("display_name", "real_name", "name"))
    return shortened(one_line(next((str(each) for each in named if each), "")), LONGEST_NAME)

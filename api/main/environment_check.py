"""Mistakes in the environment that no setting can report, because nothing reads the misspelled or lonely variable."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator

from api.main.settings import PREFIX, Settings
from integrations import Service


def environment_problems(given: Collection[str], services: Iterable[Service]) -> list[str]:
    """Sentences that name the variable and what to do. `given`: the names of the variables that are set."""
    return [*unknown_settings(given), *_half_set_apps(given, services)]


def unknown_settings(given: Collection[str]) -> Iterator[str]:
    known = Settings.variables()
    for name in sorted(name for name in given if name.startswith(PREFIX) and name not in known):
        similar = difflib.get_close_matches(name[:64], known, n=1)
        advice = f"did you mean {similar[0]}?" if similar else "docs/configuration.md names all settings."
        yield f"{name} is not a setting and has no effect; {advice}"


def _half_set_apps(given: Collection[str], services: Iterable[Service]) -> Iterator[str]:
    for service in services:
        if service.oauth is None:
            continue
        pair = (service.client_id_variable, service.client_secret_variable)
        half = [name for name in pair if name in given]
        if len(half) == 1:
            missing = pair[1] if half == [pair[0]] else pair[0]
            yield f"{missing} is not set, but {half[0]} is; {service.title} needs both to connect by OAuth."

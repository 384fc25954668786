import re
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from api.access.api_key import BASE62, KEY_PATTERN, ApiKey
from api.access.api_key_scheme import ApiKeyScheme
from api.access.authenticator import Authenticator
from api.access.last_used import LastUsedRecorder
from api.access.peppers import Peppers
from api.access.repository import ApiKeyRepository
from api.http.middleware import RequestMiddleware
from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import KeyRing
from api.kit.crypto.vault import Vault
from api.kit.ids import ALPHABET, new_id, random_text
from api.kit.storage.revision_cache import RevisionCache
from api.kit.storage.store import Item, Key, Store
from api.main.app import build_router_app
from api.main.settings import Settings
from tests.harness import Workspace, caller, listening


def crc32_in_base62(text: str) -> str:
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


@pytest.mark.requirement("AUT-01")
def test_a_key_has_the_published_format_and_checksum(workspace: Workspace) -> None:
    key = workspace.make_key("read")["apiKey"]

    assert re.fullmatch(r"pb_[0-9a-hjkmnp-tv-z]{20}_[0-9A-Za-z]{38}", key)
    assert KEY_PATTERN.fullmatch(key)
    assert key[-6:] == crc32_in_base62(key[:-6])


@pytest.mark.requirement("AUT-01")
def test_the_public_part_of_a_key_names_its_record(workspace: Workspace) -> None:
    api_key = workspace.make_key("read")

    assert api_key["apiKey"].split("_")[1] == api_key["id"].removeprefix("key_")


@pytest.mark.requirement("AUT-01")
def test_a_scanner_finds_a_key_in_the_middle_of_a_text() -> None:
    key = ApiKey.new().text().reveal_text()

    assert KEY_PATTERN.findall(f"config = {{'token': '{key}'}}\n") == [key]


def test_parsing_a_key_returns_its_parts() -> None:
    key = ApiKey.new()
    parsed = ApiKey.parse(key.text().reveal_text())

    assert parsed is not None
    assert (parsed.key_id, parsed.secret.reveal()) == (key.key_id, key.secret.reveal())


def test_every_single_wrong_character_is_detected_without_a_read() -> None:
    text = ApiKey.new().text().reveal_text()
    for position in range(len(text)):
        for other in {BASE62[(BASE62.find(text[position]) + step) % 62] for step in (1, 7, 30)} | {"_", " ", "é"}:
            if other != text[position]:
                assert ApiKey.parse(text[:position] + other + text[position + 1 :]) is None


def test_a_key_shows_nothing_of_its_secret_by_accident() -> None:
    key = ApiKey.new()

    assert key.secret.reveal_text() not in f"{key!r} {key} {key.text()!r} {key.text()}"


@pytest.mark.requirement("AUT-09")
def test_ids_and_keys_are_random_and_long_enough() -> None:
    bits_of_a_character = 5

    assert len(ALPHABET) == 2**bits_of_a_character
    assert len(random_text()) * bits_of_a_character >= 96
    assert len({new_id("server", "ws_a", 1_800_000_000.0)[-20:] for _ in range(1000)}) == 1000
    assert len({ApiKey.new().secret.reveal() for _ in range(1000)}) == 1000


@pytest.mark.requirement("AUT-09")
def test_every_id_in_the_api_has_a_hundred_random_bits(workspace: Workspace) -> None:
    for created in (workspace.make_server(), workspace.make_agent(), workspace.make_key("read")):
        again = {"server": workspace.make_server, "agent": workspace.make_agent}.get(created["id"].partition("_")[0])
        other = again() if again else workspace.make_key("read")
        assert re.fullmatch(rf"(server|agent|key)_[{ALPHABET}]{{20,33}}", created["id"])
        assert len(created["id"]) <= 40
        same = sum(one == two for one, two in zip(created["id"][-20:], other["id"][-20:], strict=True))
        assert same < 10
    assert re.fullmatch(rf"ws_[{ALPHABET}]{{20}}", workspace.id)


class CountingStore:
    """A store that counts how often it is asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reads: list[Key] = []

    async def get(self, key: Key) -> Item | None:
        self.reads.append(key)
        return await self._store.get(key)

    def __getattr__(self, name: str) -> object:
        self.reads.append(Key(name, ""))
        return getattr(self._store, name)


@contextmanager
def counted(data_dir: Path) -> Iterator[tuple[httpx2.Client, CountingStore]]:
    """A served Plugboard in which all that decides who calls reads from a store that counts."""
    app = build_router_app(Settings(data_dir=data_dir))
    with listening(RequestMiddleware(app)) as url, caller(url) as client:
        parts, clock = app.state.container, SystemClock()
        store = CountingStore(parts.store)
        peppers = Peppers(Vault(KeyRing(store, parts.root_keys, clock)))
        api_keys = ApiKeyScheme(ApiKeyRepository(store), peppers, LastUsedRecorder(store, clock))
        app.state.authenticator = Authenticator([api_keys], RevisionCache(store), clock)
        app.state.container = replace(parts, store=store)
        store.reads.clear()
        yield client, store


@pytest.mark.requirement("AUT-01")
def test_a_malformed_key_costs_no_read(tmp_path: Path) -> None:
    good = ApiKey.new().text().reveal_text()
    wrong_checksum = good[:-1] + ("a" if good[-1] != "a" else "b")
    with counted(tmp_path) as (client, store):
        for text in (wrong_checksum, good[:-1], f"{good}0", f"x{good}", "pb__", secrets.token_urlsafe(40)):
            for path in ("/api/workspaces/ws_3kq8v0zj5m1t7r2x9c4b/mcp-servers", "/api/workspaces", "/api/services"):
                assert client.get(path, headers={"Authorization": f"Bearer {text}"}).status_code == 401
        assert store.reads == []

        client.get("/api/workspaces", headers={"Authorization": f"Bearer {good}"})
        assert Key(f"APIKEY#key_{good.split('_')[1]}", "OWNER") in store.reads

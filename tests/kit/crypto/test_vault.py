import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from api.kit.clock import SystemClock
from api.kit.crypto.data_keys import KeyRing, NoDataKey
from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import LocalRootKeys
from api.kit.crypto.secret import Secret
from api.kit.crypto.vault import Sealed, SecretLocation, Vault
from api.kit.storage.sqlite import SqliteStore
from api.kit.storage.store import Conflict, IfAbsent, IfPresent, Key, Put

W, OTHER = "WS#w", "WS#other"
HEADER = SecretLocation("SERVER#s", "headerValue")
TOKEN = Secret("xoxb-canary")

owners = st.sampled_from([W, OTHER])
names = st.text(max_size=8)
places = st.builds(SecretLocation, names, names)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "test.db")
    yield store
    await store.close()


@pytest.fixture
async def ring(store: SqliteStore) -> KeyRing:
    ring = KeyRing(store, LocalRootKeys({"k1": Secret(secrets.token_bytes(32))}), SystemClock())
    await store.write(*await ring.first_key_changes(W), *await ring.first_key_changes(OTHER))
    return ring


@pytest.fixture
def vault(ring: KeyRing) -> Vault:
    return Vault(ring)


async def test_a_secret_opens_at_its_place(vault: Vault) -> None:
    sealed = (await vault.sealer(W)).seal(HEADER, TOKEN)

    assert await vault.unseal(W, HEADER, Sealed.parse(sealed.text)) == TOKEN


@pytest.mark.requirement("ENC-01")
@pytest.mark.parametrize(
    ("owner", "place"),
    [
        (OTHER, HEADER),
        (W, SecretLocation("SERVER#other", "headerValue")),
        (W, SecretLocation("SERVER#s", "password")),
        (W, SecretLocation("SERVER#sheaderValue", "")),
        (W, SecretLocation("SERVER#", "sheaderValue")),
    ],
)
async def test_a_moved_ciphertext_cannot_be_opened(vault: Vault, owner: str, place: SecretLocation) -> None:
    sealed = (await vault.sealer(W)).seal(HEADER, TOKEN)

    with pytest.raises(CannotOpen):
        await vault.unseal(owner, place, sealed)


@pytest.mark.requirement("ENC-01")
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(owners, places, owners, places)
async def test_no_ciphertext_opens_at_any_other_place(
    vault: Vault, sealed_for: str, sealed_at: SecretLocation, owner: str, place: SecretLocation
) -> None:
    assume((sealed_for, sealed_at) != (owner, place))
    sealed = (await vault.sealer(sealed_for)).seal(sealed_at, TOKEN)

    with pytest.raises(CannotOpen):
        await vault.unseal(owner, place, sealed)


@pytest.mark.requirement("ENC-01")
async def test_owners_with_the_same_data_key_are_still_separate(ring: KeyRing, vault: Vault) -> None:
    """The owner is bound in the value itself, not only by whose key it is."""
    sealing = await vault.sealer(W)
    sealed = sealing.seal(HEADER, TOKEN)
    known = ring._cached.peek((W, 1))
    assert known
    ring._cached.put((OTHER, 1), known)

    with pytest.raises(CannotOpen):
        await vault.unseal(OTHER, HEADER, sealed)
    assert await vault.unseal(W, HEADER, sealed) == TOKEN


@pytest.mark.requirement("ENC-02")
async def test_a_sealed_value_that_claims_another_version_does_not_open(ring: KeyRing, vault: Vault) -> None:
    sealed = (await vault.sealer(W)).seal(HEADER, TOKEN)
    await ring.rotate(W)
    for version in (0, 2, 3, 255):
        claimed = sealed.envelope[:6] + bytes([version]) + sealed.envelope[7:]
        with pytest.raises(CannotOpen):
            await vault.unseal(W, HEADER, Sealed(claimed))


@pytest.mark.requirement("ENC-07")
@pytest.mark.parametrize("text", ["", "xoxb-plain-token", "Bearer plain", "UAEB", "null", "é", "=" * 300, "A" * 300])
def test_text_that_is_not_sealed_is_refused(text: str) -> None:
    with pytest.raises(CannotOpen) as raised:
        Sealed.parse(text)

    assert not text or text not in str(raised.value)


@pytest.mark.requirement("ENC-13")
async def test_a_sealed_value_shows_its_version_only(vault: Vault) -> None:
    sealed = (await vault.sealer(W)).seal(HEADER, TOKEN)

    assert repr(sealed) == str(sealed) == f"{sealed}" == "Sealed(v1, ***)"
    assert sealed == Sealed.parse(sealed.text)


async def test_a_value_sealed_before_a_rotation_can_no_longer_be_stored(
    store: SqliteStore, ring: KeyRing, vault: Vault
) -> None:
    place, sealing = Key(W, "SERVER#s"), await vault.sealer(W)
    data = {"sealed": {"headerValue": sealing.seal(HEADER, TOKEN).text}}
    await ring.rotate(W)

    with pytest.raises(Conflict):
        await store.write(Put(place, data, IfAbsent()), sealing.guard)

    sealing = await vault.sealer(W)
    data = {"sealed": {"headerValue": sealing.seal(HEADER, TOKEN).text}}
    await store.write(Put(place, data, IfAbsent()), sealing.guard)
    assert sealing.version == 2


@pytest.mark.requirement("ENC-08")
async def test_old_versions_still_open_after_a_rotation(ring: KeyRing, vault: Vault) -> None:
    before = (await vault.sealer(W)).seal(HEADER, TOKEN)
    await ring.rotate(W)
    after = (await vault.sealer(W)).seal(HEADER, TOKEN)

    assert (before.version, after.version) == (1, 2)
    assert await vault.unseal(W, HEADER, before) == await vault.unseal(W, HEADER, after) == TOKEN


async def test_resealing_keeps_secret_and_place_under_the_active_key(ring: KeyRing, vault: Vault) -> None:
    before = (await vault.sealer(W)).seal(HEADER, TOKEN)
    await ring.rotate(W)

    after = await vault.reseal(await vault.sealer(W), HEADER, before)

    assert after.version == 2
    assert await vault.unseal(W, HEADER, after) == TOKEN
    with pytest.raises(CannotOpen):
        await vault.reseal(await vault.sealer(W), SecretLocation("SERVER#s", "password"), before)


@pytest.mark.requirement("ENC-11")
async def test_backups_of_a_deleted_workspace_cannot_be_opened(store: SqliteStore, ring: KeyRing, vault: Vault) -> None:
    sealing = await vault.sealer(W)
    data = {"sealed": {"headerValue": sealing.seal(HEADER, TOKEN).text}}
    await store.write(Put(Key(W, "SERVER#s"), data, IfAbsent()), sealing.guard)
    backup = [item for item in await store.query(W) if "sealed" in item.data]

    await store.write(*await ring.deletion_writes(W))
    ring.forget(W)
    await store.write(*(Put(item.key, item.data, IfPresent()) for item in backup))

    restored = await store.get(Key(W, "SERVER#s"))
    with pytest.raises(CannotOpen):
        await vault.unseal(W, HEADER, Sealed.parse(restored.data["sealed"]["headerValue"]))
    with pytest.raises(NoDataKey):
        await vault.sealer(W)


@pytest.mark.requirement("ENC-11")
async def test_a_backup_that_holds_the_data_keys_too_ends_with_the_root_key_that_wrapped_them(
    store: SqliteStore,
) -> None:
    old, new = Secret(secrets.token_bytes(32)), Secret(secrets.token_bytes(32))
    ring = KeyRing(store, LocalRootKeys({"old": old}), SystemClock())
    await store.write(*await ring.first_key_changes("WS#gone"))
    sealed = (await Vault(ring).sealer("WS#gone")).seal(HEADER, TOKEN)
    backup = await store.query("WS#gone")

    await store.write(*await ring.deletion_writes("WS#gone"))
    after = KeyRing(store, LocalRootKeys({"new": new}), SystemClock())
    await store.write(*(Put(item.key, item.data, IfAbsent()) for item in backup))

    with pytest.raises(CannotOpen):
        await Vault(after).unseal("WS#gone", HEADER, sealed)


@pytest.mark.requirement("ENC-16")
async def test_keyed_hashes_have_keys_of_their_own_by_owner_and_purpose(ring: KeyRing, vault: Vault) -> None:
    keys = [
        await vault.derived_key(owner, purpose) for owner in (W, OTHER) for purpose in ("fingerprint", "cursor", "")
    ]
    data_keys = [await ring.key(owner, 1) for owner in (W, OTHER)]

    assert len({key.secret.reveal() for key in keys} | {key.reveal() for key in data_keys}) == 8
    assert {key.version for key in keys} == {1}


async def test_a_derived_key_is_found_by_its_version_after_a_rotation(ring: KeyRing, vault: Vault) -> None:
    before = await vault.derived_key(W, "pepper")
    await ring.rotate(W)
    after = await vault.derived_key(W, "pepper")

    assert (before.version, after.version) == (1, 2)
    assert before.secret != after.secret
    assert await vault.derived_key(W, "pepper", before.version) == before
    with pytest.raises(CannotOpen):
        await vault.derived_key(W, "pepper", 3)

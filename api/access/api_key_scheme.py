"""API keys as principals: `Authorization: Bearer pb_…`."""

from __future__ import annotations

import hmac

from api.access.api_key import KEY_PATTERN, PREFIX, ApiKey
from api.access.last_used import LastUsedRecorder
from api.access.peppers import Peppers
from api.access.principal import AuthenticationScheme, Headers, Principal, Scope
from api.access.repository import OPERATORS, ApiKeyRecord, ApiKeyRepository, key_record
from api.errors import Unauthorized
from api.kit.crypto.secret import Secret
from api.kit.storage.revision_cache import Snapshot

MISTYPED = "The API key is mistyped: its checksum is wrong. Copy it again, whole."
NO_KEY_FORM = "The text after `Bearer` is not in the form of an API key, `pb_…_…`. Copy the key again, whole."
_NO_HASH = "0" * 64


class ApiKeyScheme(AuthenticationScheme):
    def __init__(self, keys: ApiKeyRepository, peppers: Peppers, last_used: LastUsedRecorder) -> None:
        self._keys = keys
        self._peppers = peppers
        self._last_used = last_used

    def credentials(self, headers: Headers) -> str | None:
        values = [value for name, value in headers if name == b"authorization"]
        if len(values) != 1:  # two headers contradict each other
            return None
        scheme, _, text = values[0].decode("latin-1").partition(" ")
        text = text.strip()
        return text if scheme.lower() == "bearer" and text.startswith(PREFIX) else None

    def is_well_formed(self, credentials: str) -> bool:
        return ApiKey.parse(credentials) is not None

    def flaw(self, credentials: str) -> str:
        """Why they are not well-formed. The checksum is public, so this does not help to guess a key."""
        return MISTYPED if KEY_PATTERN.fullmatch(credentials) else NO_KEY_FORM

    async def partition(self, credentials: str) -> str:
        return await self._keys.owner(_parse(credentials).key_id) or OPERATORS

    async def authenticate(self, partition: str, snapshot: Snapshot | None, credentials: str) -> Principal | None:
        """Hashes whether or not the key exists, so that the time taken reveals no key's id."""
        key = _parse(credentials)
        record = await (self._keys.find(snapshot, key.key_id) if snapshot else self._keys.get(partition, key.key_id))
        pepper = await (self._peppers.get(record.pepper) if record else self._peppers.any())
        hashed = key.hashed(pepper, record.rights(partition) if record else b"")
        same = hmac.compare_digest(hashed, record.hash if record else _NO_HASH)
        return _principal(partition, record) if record and same else None

    async def load(self, partition: str, principal_id: str) -> Principal | None:
        record = await self._keys.get(partition, principal_id)
        return _principal(partition, record) if record else None

    async def sealing_secret(self, credentials: str) -> Secret:
        """The key's own secret, of which only a hash is stored."""
        return _parse(credentials).secret

    def record_use(self, partition: str, principal: Principal) -> None:
        self._last_used.record(partition, principal.id, principal.expires_at)


def _principal(partition: str, record: ApiKeyRecord) -> Principal:
    return Principal(
        "operator" if record.scope is Scope.OPERATOR else "api_key",
        record.id,
        record.name,
        record.scope,
        (key_record(partition, record.id),),
        None if record.agent_ids is None else frozenset(record.agent_ids),
        record.expires_at,
    )


def _parse(credentials: str) -> ApiKey:
    key = ApiKey.parse(credentials)
    if key is None:
        raise Unauthorized
    return key

"""Root keys in AWS KMS: the key never leaves KMS, and each use names owner, purpose and version of the data key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.root_keys import InvalidRootKeys, RootKeyUnavailable, UnknownRootKey, WrappedKey
from api.kit.crypto.secret import Secret

THREADS = 8
PATIENCE_SECONDS = 5.0
ATTEMPTS = 3
CONNECT_SECONDS = 1.0
READ_SECONDS = 2.0

_KEY = re.compile(r"(?:arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/)?((?:mrk-)?[0-9a-f-]{32,36})")
_NOT_OURS = {"InvalidCiphertextException", "IncorrectKeyException"}


class KmsClient(Protocol):
    def generate_data_key(self, **request: object) -> Mapping[str, bytes]: ...

    def encrypt(self, **request: object) -> Mapping[str, bytes]: ...

    def decrypt(self, **request: object) -> Mapping[str, bytes]: ...


def kms_client(endpoint: str | None = None) -> KmsClient:
    """Region and credentials come from AWS's usual sources."""
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},  # backs off with full jitter
        max_pool_connections=THREADS,
    )
    try:
        return cast("KmsClient", boto3.client("kms", endpoint_url=endpoint, config=config))
    except BotoCoreError as error:
        raise RootKeyUnavailable(f"KMS cannot be used: {error} (AWS_DEFAULT_REGION sets its region)") from None


class KmsRootKeys:
    """KMS keys: the first seals, all of them open. Stored data cannot name any other KMS key."""

    def __init__(self, client: KmsClient, *keys: str, patience: float = PATIENCE_SECONDS) -> None:
        self._client = client
        self._keys = {_root_id(key): key for key in keys}
        self._patience = patience
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="kms")
        self.id = next(iter(self._keys))
        self.ids = frozenset(self._keys)

    async def new_data_key(self, context: Mapping[str, str]) -> tuple[Secret, WrappedKey]:
        parameters = self._parameters(self.id, context)
        response = await self._request(lambda: self._client.generate_data_key(KeySpec="AES_256", **parameters))
        return Secret(response["Plaintext"]), WrappedKey(self.id, response["CiphertextBlob"])

    async def wrap(self, secret: Secret, context: Mapping[str, str]) -> WrappedKey:
        parameters = self._parameters(self.id, context)
        response = await self._request(lambda: self._client.encrypt(Plaintext=secret.reveal(), **parameters))
        return WrappedKey(self.id, response["CiphertextBlob"])

    async def unwrap(self, wrapped: WrappedKey, context: Mapping[str, str]) -> Secret:
        if wrapped.root_id not in self.ids:
            raise UnknownRootKey(wrapped.root_id)
        parameters = self._parameters(wrapped.root_id, context)
        response = await self._request(lambda: self._client.decrypt(CiphertextBlob=wrapped.blob, **parameters))
        return Secret(response["Plaintext"])

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _parameters(self, root_id: str, context: Mapping[str, str]) -> Mapping[str, object]:
        return {"KeyId": self._keys[root_id], "EncryptionContext": dict(context)}

    async def _request(self, send: Callable[[], Mapping[str, bytes]]) -> Mapping[str, bytes]:
        try:
            async with asyncio.timeout(self._patience):  # when KMS hangs, callers must not queue for the threads
                return await asyncio.get_running_loop().run_in_executor(self._threads, send)
        except TimeoutError:
            raise RootKeyUnavailable("KMS did not answer in time") from None
        except ClientError as error:
            raise _to_our_error(error) from None
        except BotoCoreError as error:
            raise RootKeyUnavailable(f"KMS cannot be reached: {type(error).__name__}") from None


def _to_our_error(error: ClientError) -> CannotOpen | RootKeyUnavailable:
    code = error.response["Error"]["Code"]
    return CannotOpen() if code in _NOT_OURS else RootKeyUnavailable(f"KMS refused: {code}")


def _root_id(key: str) -> str:
    """The key's own id: the same for its ARN and its short form."""
    if not (match := _KEY.fullmatch(key)):
        raise InvalidRootKeys(
            f"{key!r} is not a KMS key; give its id or ARN, not an alias, which may point elsewhere later"
        )
    return match[1]

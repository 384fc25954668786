import threading
import traceback
from collections.abc import Iterator

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from moto import mock_aws

from api.kit.crypto.envelope import CannotOpen
from api.kit.crypto.kms_root_keys import KmsRootKeys, kms_client
from api.kit.crypto.root_keys import InvalidRootKeys, RootKeyUnavailable, UnknownRootKey, WrappedKey
from api.kit.crypto.secret import Secret

CONTEXT = {"app": "plugboard", "owner": "WS#w", "purpose": "data-key", "version": "1"}


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        yield


def new_key() -> str:
    return boto3.client("kms").create_key()["KeyMetadata"]["Arn"]


def refusing(code: str, status: int = 400):  # noqa: ANN201  # botocore's own untyped hook
    def hook(request, **_):  # noqa: ANN001, ANN003, ANN202
        body = f'{{"__type": "{code}", "message": "no"}}'.encode()
        return AWSResponse(request.url, status, {}, Raw(body))

    return hook


class Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self._body


async def test_a_data_key_made_by_kms_opens_with_kms() -> None:
    roots = KmsRootKeys(kms_client(), new_key())

    data_key, wrapped = await roots.new_data_key(CONTEXT)

    assert len(data_key) == 32
    assert data_key.reveal() not in wrapped.blob
    assert await roots.unwrap(wrapped, CONTEXT) == data_key
    roots.close()


async def test_an_existing_data_key_can_be_wrapped_by_kms() -> None:
    roots = KmsRootKeys(kms_client(), new_key())
    data_key = Secret(bytes(range(32)))

    assert await roots.unwrap(await roots.wrap(data_key, CONTEXT), CONTEXT) == data_key
    roots.close()


@pytest.mark.requirement("ENC-01")
@pytest.mark.parametrize("changed", [{"owner": "WS#other"}, {"version": "2"}])
async def test_kms_does_not_open_it_for_another_owner_or_version(changed: dict[str, str]) -> None:
    roots = KmsRootKeys(kms_client(), new_key())
    _, wrapped = await roots.new_data_key(CONTEXT)

    with pytest.raises(CannotOpen):
        await roots.unwrap(wrapped, CONTEXT | changed)
    roots.close()


@pytest.mark.parametrize("operation", ["GenerateDataKey", "Encrypt", "Decrypt"])
async def test_each_request_names_the_configured_key_and_the_whole_context(operation: str) -> None:
    client, key, seen = kms_client(), new_key(), []
    client.meta.events.register(f"provide-client-params.kms.{operation}", lambda params, **_: seen.append(params))
    roots = KmsRootKeys(client, key)

    data_key, wrapped = await roots.new_data_key(CONTEXT)
    await roots.unwrap(wrapped, CONTEXT)
    await roots.wrap(data_key, CONTEXT)

    assert [(request["KeyId"], request["EncryptionContext"]) for request in seen] == [(key, CONTEXT)]
    roots.close()


async def test_a_stored_key_cannot_name_a_kms_key_that_is_not_configured() -> None:
    roots = KmsRootKeys(kms_client(), new_key())
    theirs = KmsRootKeys(kms_client(), new_key())
    _, wrapped = await theirs.new_data_key(CONTEXT)

    with pytest.raises(UnknownRootKey):
        await roots.unwrap(wrapped, CONTEXT)
    roots.close()
    theirs.close()


async def test_the_first_key_seals_and_the_others_read() -> None:
    client, old, new = kms_client(), new_key(), new_key()
    before, after = KmsRootKeys(client, old), KmsRootKeys(client, new, old)
    data_key, wrapped = await before.new_data_key(CONTEXT)

    assert await after.unwrap(wrapped, CONTEXT) == data_key
    assert (await after.wrap(data_key, CONTEXT)).root_id == after.id == new.rpartition("/")[2]
    before.close()
    after.close()


async def test_an_arn_and_a_short_id_are_the_same_root() -> None:
    arn = new_key()
    long, short = KmsRootKeys(kms_client(), arn), KmsRootKeys(kms_client(), arn.rpartition("/")[2])

    assert long.id == short.id
    long.close()
    short.close()


@pytest.mark.parametrize("key", ["alias/plugboard", "arn:aws:kms:eu-west-1:123456789012:alias/plugboard", "", "x"])
def test_an_alias_or_an_invalid_key_id_is_refused(key: str) -> None:
    with pytest.raises(InvalidRootKeys, match="not an alias"):
        KmsRootKeys(kms_client(), key)


@pytest.mark.requirement("ENC-12")
@pytest.mark.parametrize(
    "code", ["KMSInternalException", "ThrottlingException", "AccessDeniedException", "DisabledException"]
)
async def test_other_refusals_of_kms_are_temporary(code: str) -> None:
    client = kms_client()
    client.meta.events.register("before-send.kms.Decrypt", refusing(code))
    roots = KmsRootKeys(client, new_key())
    _, wrapped = await roots.new_data_key(CONTEXT)

    with pytest.raises(RootKeyUnavailable, match=code):
        await roots.unwrap(wrapped, CONTEXT)
    roots.close()


@pytest.mark.parametrize("code", ["InvalidCiphertextException", "IncorrectKeyException"])
async def test_kms_failing_to_open_is_reported_like_any_other_failure_to_open(code: str) -> None:
    client = kms_client()
    client.meta.events.register("before-send.kms.Decrypt", refusing(code))
    roots = KmsRootKeys(client, new_key())

    with pytest.raises(CannotOpen):
        await roots.unwrap(WrappedKey(roots.id, b"x"), CONTEXT)
    roots.close()


@pytest.mark.requirement("ENC-12")
@pytest.mark.parametrize(
    "error", [EndpointConnectionError(endpoint_url="https://kms"), ReadTimeoutError(endpoint_url="https://kms")]
)
async def test_kms_out_of_reach_is_temporary(error: Exception) -> None:
    client, tries = kms_client(), []

    def fail(**_: object) -> None:
        tries.append(1)
        raise error

    client.meta.events.register("before-send.kms.GenerateDataKey", fail)
    roots = KmsRootKeys(client, new_key())

    with pytest.raises(RootKeyUnavailable, match=type(error).__name__):
        await roots.new_data_key(CONTEXT)
    assert len(tries) == 3
    roots.close()


@pytest.mark.requirement("ENC-12")
async def test_waiting_for_kms_ends_with_the_patience() -> None:
    client, answered = kms_client(), threading.Event()
    roots = KmsRootKeys(client, new_key(), patience=0.05)
    client.meta.events.register("before-send.kms.GenerateDataKey", lambda **_: answered.wait(30) and None)

    with pytest.raises(RootKeyUnavailable, match="in time"):
        await roots.new_data_key(CONTEXT)
    answered.set()
    roots.close()


@pytest.mark.requirement("ENC-12")
def test_the_client_has_short_timeouts_and_backs_off_with_jitter() -> None:
    config = kms_client().meta.config

    assert (config.connect_timeout, config.read_timeout) == (1.0, 2.0)
    assert config.retries["mode"] == "standard"
    assert config.retries["total_max_attempts"] == 3


@pytest.mark.requirement("ENC-13")
async def test_a_failure_to_wrap_shows_no_data_key_even_with_local_variables() -> None:
    client, data_key = kms_client(), Secret("canary-" * 5)
    client.meta.events.register("before-send.kms.Encrypt", refusing("AccessDeniedException"))
    roots = KmsRootKeys(client, new_key())

    with pytest.raises(RootKeyUnavailable) as raised:
        await roots.wrap(data_key, CONTEXT)

    shown = "".join(traceback.TracebackException.from_exception(raised.value, capture_locals=True).format())
    assert "AccessDenied" in shown
    assert "canary-canary" not in shown
    roots.close()

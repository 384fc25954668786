import base64
import warnings
from dataclasses import replace
from urllib.parse import unquote, unquote_plus

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from joserfc import jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey

from integrations.oauth.client_auth import BadKey, signing_algorithm
from integrations.oauth.model import GrantRefused, OAuthClient
from integrations.oauth.token_endpoint import client_credentials
from tests.integrations.oauth.token_endpoint import TOKENS, fields, token_endpoint

Private = (
    rsa.RSAPrivateKey
    | ec.EllipticCurvePrivateKey
    | ed25519.Ed25519PrivateKey
    | ed448.Ed448PrivateKey
    | dsa.DSAPrivateKey
)
RSA = rsa.generate_private_key(65537, 2048)
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())
ED25519 = ed25519.Ed25519PrivateKey.generate()


def pem(key: Private, locked: KeySerializationEncryption | None = None) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked or NoEncryption()).decode()


def with_key(key: Private) -> OAuthClient:
    return OAuthClient("https://ours.example/client.json", "private_key_jwt", private_key=pem(key))


def basic(header: str) -> tuple[str, str]:
    scheme, _, coded = header.partition(" ")
    assert scheme == "Basic"
    name, _, secret = base64.b64decode(coded, validate=True).decode("ascii").partition(":")
    return name, secret


async def sent(client: OAuthClient, issuer: str | None = None) -> tuple[dict[str, str], dict[str, str]]:
    async with token_endpoint(TOKENS) as here:
        await client_credentials(here.http, replace(here.provider, issuer=issuer), client, [])
        text = fields(here.request)
    assert text.pop("grant_type") == "client_credentials"
    return here.request.headers, text


async def test_plain_credentials_are_unchanged_in_basic_auth() -> None:
    headers, text = await sent(OAuthClient("1a2b-3c.4d_~", "client_secret_basic", secret="s3cret-._~"))

    assert basic(headers["authorization"]) == ("1a2b-3c.4d_~", "s3cret-._~")
    assert text == {}


@pytest.mark.parametrize("text", ["https://ours.example/client.json", "a b+c%2B:d/é&=", ":", "%"])
async def test_encoded_credentials_are_decoded_by_every_common_decoder(text: str) -> None:
    headers, _ = await sent(OAuthClient(text, "client_secret_basic", secret=text))

    name, secret = basic(headers["authorization"])
    assert (unquote(name), unquote(secret)) == (text, text)
    assert (unquote_plus(name), unquote_plus(secret)) == (text, text)


async def test_special_characters_of_credentials_are_encoded() -> None:
    headers, _ = await sent(OAuthClient("https://a/b", "client_secret_basic", secret="c/d:e f"))

    assert basic(headers["authorization"]) == ("https%3A%2F%2Fa%2Fb", "c%2Fd%3Ae%20f")


async def test_a_secret_in_the_body_is_in_no_header() -> None:
    headers, text = await sent(OAuthClient("id", "client_secret_post", secret="a b&c"))

    assert text == {"client_id": "id", "client_secret": "a b&c"}
    assert "authorization" not in headers


async def test_a_public_client_sends_only_its_id() -> None:
    headers, text = await sent(OAuthClient("id", "none", secret="unused"))

    assert text == {"client_id": "id"}
    assert "authorization" not in headers


@pytest.mark.parametrize(
    ("key", "algorithm", "kind"),
    [(RSA, "RS256", RSAKey), (P256, "ES256", ECKey), (P384, "ES384", ECKey), (ED25519, "EdDSA", OKPKey)],
)
async def test_a_signed_assertion_has_issuer_audience_and_expiry(
    key: Private, algorithm: str, kind: type[RSAKey | ECKey | OKPKey]
) -> None:
    headers, text = await sent(with_key(key), issuer="https://login.example")

    assertion = text.pop("client_assertion")
    assert text == {
        "client_id": "https://ours.example/client.json",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    }
    assert "authorization" not in headers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        token = jwt.decode(assertion, kind.import_key(pem(key)), algorithms=[algorithm])
    assert token.header["alg"] == algorithm
    claims = token.claims
    assert claims.keys() == {"iss", "sub", "aud", "iat", "exp", "jti"}
    assert claims["iss"] == claims["sub"] == "https://ours.example/client.json"
    assert claims["aud"] == "https://login.example"
    assert claims["exp"] - claims["iat"] == 120


async def test_an_assertion_without_an_issuer_names_the_token_endpoint_and_is_unique() -> None:
    async with token_endpoint(TOKENS) as here:
        for _ in range(2):
            await client_credentials(here.http, here.provider, with_key(P256), [])

    several = [
        jwt.decode(fields(visit)["client_assertion"], ECKey.import_key(pem(P256))).claims
        for visit in here.server.requests
    ]
    assert [claims["aud"] for claims in several] == [here.provider.token_url] * 2
    assert several[0]["jti"] != several[1]["jti"]


BAD_KEYS = {
    "nothing": "",
    "no PEM": "hello",
    "not ASCII": "ключ",
    "cut": pem(RSA)[:200],
    "locked": pem(P256, BestAvailableEncryption(b"x")),
    "public": P256.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
    "too small": pem(rsa.generate_private_key(65537, 1024)),  # noqa: S505  it has to be
    "another curve": pem(ec.generate_private_key(ec.SECP256K1())),
    "another kind": pem(ed448.Ed448PrivateKey.generate()),
}


@pytest.mark.parametrize("key", [pytest.param(text, id=name) for name, text in BAD_KEYS.items()])
async def test_an_unusable_private_key_is_refused_before_any_request(key: str) -> None:
    async with token_endpoint(TOKENS) as here:
        with pytest.raises(GrantRefused, match=r"^invalid_client$"):
            await client_credentials(
                here.http, here.provider, OAuthClient("id", "private_key_jwt", private_key=key), []
            )
        with pytest.raises(BadKey) as raised:
            signing_algorithm(key)

    assert here.server.requests == []
    assert not key or key not in str(raised.value)


def test_a_client_shows_neither_its_secret_nor_its_key() -> None:
    assert "hidden" not in repr(OAuthClient("id", "client_secret_post", secret="hidden", private_key="hidden"))

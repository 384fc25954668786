"""Client authentication at an authorization server."""

from __future__ import annotations

import warnings
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from authlib.oauth2.rfc7523 import private_key_jwt_sign  # type: ignore[import-untyped]
from authlib.oauth2.rfc7523.client import ASSERTION_TYPE  # type: ignore[import-untyped]
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey

from integrations.oauth.model import GrantRefused, OAuthClient

ASSERTION_SECONDS = 120
RSA_BITS = range(2048, 4096 + 1)
CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
SigningKey = RSAKey | ECKey | OKPKey


class BadKey(ValueError):
    """A private key that cannot sign. The text lists the supported kinds and reveals nothing of the key."""

    def __init__(self) -> None:
        super().__init__(
            "The private key must be PEM without a password: RSA of 2048 to 4096 bits, P-256 to P-521, or Ed25519."
        )


@dataclass(frozen=True, slots=True)
class ClientAuthentication:
    """The headers and form fields that authenticate a request."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)


def authenticate_client(client: OAuthClient, audience: str) -> ClientAuthentication:
    """`audience`: the issuer of the authorization server, or its token endpoint if the issuer is unknown."""
    client_id = {"client_id": client.id}
    match client.auth:
        case "client_secret_basic":
            return ClientAuthentication(headers={"Authorization": _basic(client.id, client.secret or "")})
        case "client_secret_post":
            return ClientAuthentication(fields={**client_id, "client_secret": client.secret or ""})
        case "private_key_jwt":
            assertion = {"client_assertion_type": ASSERTION_TYPE, "client_assertion": _assertion(client, audience)}
            return ClientAuthentication(fields={**client_id, **assertion})
        case "none":
            return ClientAuthentication(fields=client_id)


def signing_algorithm(private_key: str) -> str:
    """The algorithm that a key signs with; raises `BadKey` for an unsupported key."""
    return _signing_key(private_key)[1]


def _signing_key(pem: str) -> tuple[SigningKey, str]:
    match _load_key(pem):
        case RSAPrivateKey() as key if key.key_size in RSA_BITS:
            return RSAKey(key, key), "RS256"
        case EllipticCurvePrivateKey() as key if key.curve.name in CURVES:
            return ECKey(key, key), CURVES[key.curve.name]
        case Ed25519PrivateKey() as key:
            return OKPKey(key, key), "EdDSA"
        case _:
            raise BadKey


def _load_key(pem: str) -> object:
    """Skips the primality test of RSA keys: it takes seconds, and no server accepts the signature of a wrong key."""
    try:
        return load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadKey from error


def _basic(client_id: str, secret: str) -> str:
    """Id and secret are encoded first (RFC 6749 §2.3.1), as an id may contain a colon. All decoders read `%20`."""
    pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def _assertion(client: OAuthClient, audience: str) -> str:
    """An unusable key has the same outcome as a refusal, without a request."""
    try:
        key, algorithm = _signing_key(client.private_key or "")
    except BadKey as error:
        raise GrantRefused("invalid_client") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)  # RFC 9864 renames EdDSA, but servers know the old name
        signed: str = private_key_jwt_sign(key, client.id, audience, alg=algorithm, expires_in=ASSERTION_SECONDS)
    return signed


def is_signing_key(pem: str) -> bool:
    try:
        signing_algorithm(pem)
    except BadKey:
        return False
    return True

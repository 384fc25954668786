"""Verifies client assertions (RFC 7523)."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from demo.oauth_provider.model import Client, Refusal

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LONGEST_SECONDS = 600


def authenticate_by_assertion(
    fields: Mapping[str, Any], clients: Mapping[str, Client], audiences: Collection[str], used: set[str]
) -> Client:
    """Each assertion is accepted once."""
    claims, client = _signed(fields, clients)
    audience, ends = claims.get("aud"), claims.get("exp")
    named = [audience] if isinstance(audience, str) else list(audience or [])
    is_ours = len(named) == 1 and named[0] in audiences
    is_fresh = isinstance(ends, int | float) and time.time() < ends <= time.time() + LONGEST_SECONDS
    number = f"{client.id} {claims.get('jti')}"
    if claims.get("sub") != client.id or not is_ours or not is_fresh or not claims.get("jti") or number in used:
        raise Refusal("bad secret")
    used.add(number)
    return client


def _signed(fields: Mapping[str, Any], clients: Mapping[str, Client]) -> tuple[Mapping[str, Any], Client]:
    if fields.get("client_assertion_type") != TYPE or "client_secret" in fields:
        raise Refusal("bad request")
    for client in clients.values():
        if client.public_key and client.auth == ("private_key_jwt",):
            key, algorithm = _key(client.public_key)
            try:
                claims = jwt.decode(str(fields["client_assertion"]), key, algorithms=[algorithm]).claims
            except (JoseError, ValueError):
                continue
            if claims.get("iss") == client.id and fields.get("client_id", client.id) == client.id:
                return claims, client
    raise Refusal("unknown client")


def _key(pem: str) -> tuple[RSAKey | ECKey | OKPKey, str]:
    match load_pem_public_key(pem.encode()):
        case RSAPublicKey():
            return RSAKey.import_key(pem), "RS256"
        case EllipticCurvePublicKey():
            return ECKey.import_key(pem), "ES256"
        case _:
            return OKPKey.import_key(pem), "EdDSA"

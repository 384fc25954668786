"""The credentials in a request's `config`: which are given, which are cleared, and whether they are valid."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
from pydantic import SecretStr

from api.errors import FieldError
from api.kit.crypto.secret import Secret
from api.kit.egress.custom_headers import HeaderRefused, check_header_value, refused_headers
from api.servers.schemas import ConfigDraft
from api.servers.server import AuthType
from api.servers.slips import SPACES
from integrations import is_signing_key

HEADERS = "headers"
JSON_NAMES = {
    "header_value": "headerValue",
    "api_key": "apiKey",
    "client_id": "clientId",
    "client_secret": "clientSecret",
    "private_key": "privateKey",
}
_FIELDS = {name: JSON_NAMES.get(name, name) for name in ConfigDraft.model_fields}


def json_name(field: str) -> str:
    return _FIELDS[field]


def given_credentials(config: ConfigDraft) -> dict[str, Secret]:
    """The credentials that have a value, by their JSON names, each as the text to seal."""
    values = {name: getattr(config, name) for name in config.model_fields_set}
    texts = {
        json_name(name): value.get_secret_value() for name, value in values.items() if isinstance(value, SecretStr)
    }
    given = {name: Secret(text) for name, text in texts.items()}
    headers = given_headers(config)
    return given | {HEADERS: headers_text(headers)} if headers else given


def given_headers(config: ConfigDraft) -> dict[str, str]:
    """The values in `headers`, without the nulls."""
    return {name: secret.get_secret_value() for name, secret in (config.headers or {}).items() if secret is not None}


def headers_text(headers: Mapping[str, str]) -> Secret:
    """The headers as they are sealed: together."""
    return Secret(msgspec.json.encode(headers))


def cleared_credentials(config: ConfigDraft) -> set[str]:
    """The JSON names that are null."""
    return {json_name(name) for name in config.model_fields_set if getattr(config, name) is None}


def check(
    config: ConfigDraft, takes: Sequence[str], auth_type: AuthType, configured: Collection[str]
) -> Iterator[FieldError]:
    """`takes` are the fields that the server accepts, `configured` those that it has after the request.

    HTTP Basic requires all of them, a header any one, OAuth none.
    """
    for name in sorted(given_credentials(config).keys() - set(takes)):
        yield FieldError(f"config.{name}", f"Not accepted for this server with authType `{auth_type}`.")
    missing = [name for name in takes if name not in configured]
    if auth_type == AuthType.BASIC:
        yield from (FieldError(f"config.{name}", "Required.") for name in missing)
    elif auth_type == AuthType.HEADER and len(missing) == len(takes):
        names = ", ".join(f"`{name}`" for name in takes)
        yield FieldError(f"config.{takes[0]}", f"Give {names}, or both." if len(takes) > 1 else "Required.")
    yield from _values(config)


def _values(config: ConfigDraft) -> Iterator[FieldError]:
    """Whether the values can be sent. No message repeats a value."""
    plain_text = {"headerValue": config.header_value, "apiKey": config.api_key, "clientId": config.client_id}
    secret = config.client_secret.get_secret_value() if config.client_secret else ""
    if secret != secret.strip():
        yield FieldError("config.clientSecret", SPACES)
    for name, field in plain_text.items():
        if field is not None:
            yield from _refused(name, field.get_secret_value())
    if config.private_key is not None and not is_signing_key(config.private_key.get_secret_value()):
        yield FieldError(
            "config.privateKey", "Must be a private key for signing as PEM: RSA (at least 2048 bits), EC or Ed25519."
        )
    for refused in refused_headers(given_headers(config)):
        path = f"config.{HEADERS}"
        yield FieldError(f"{path}.{refused.name}" if refused.name else path, str(refused))
    for name, field, banned in (("username", config.username, ":"), ("password", config.password, "")):
        if field is not None and not _fits_basic(field.get_secret_value(), banned):
            yield FieldError(
                f"config.{name}", "HTTP Basic allows no control characters, and no colon in the user name."
            )


def _refused(name: str, value: str) -> Iterator[FieldError]:
    try:
        check_header_value(value)
    except HeaderRefused as refused:
        yield FieldError(f"config.{name}", str(refused))


def _fits_basic(text: str, banned: str) -> bool:
    return not any(character < " " or character == "\x7f" or character in banned for character in text)

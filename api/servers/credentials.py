"""The credentials in a request's `config`: which are given, which are cleared, and whether they are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from api.errors import FieldError
from api.kit.crypto.secret import Secret
from api.kit.egress.custom_headers import HeaderRefused, check_header_value, check_headers
from api.servers.schemas import ConfigDraft
from api.servers.server import AuthType
from integrations import is_signing_key

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
    fields = {name: getattr(config, name) for name in config.model_fields_set}
    return {json_name(name): _text(value) for name, value in fields.items() if not _is_empty(value)}


def cleared_credentials(config: ConfigDraft) -> set[str]:
    """The JSON names that are null. They matter only if no value is given, because values replace everything."""
    return {json_name(name) for name in config.model_fields_set if _is_empty(getattr(config, name))}


def check(config: ConfigDraft, takes: Sequence[str], auth_type: AuthType) -> Iterator[FieldError]:
    """`takes` are the fields that the server accepts. HTTP Basic requires all of them, a header any one, OAuth none."""
    names = set(given_credentials(config))
    for name in sorted(names - set(takes)):
        yield FieldError(f"config.{name}", f"Not accepted for this server with authType `{auth_type}`.")
    missing = [name for name in takes if name not in names]
    if auth_type == AuthType.BASIC:
        yield from (FieldError(f"config.{name}", "Required.") for name in missing)
    elif auth_type == AuthType.HEADER and len(missing) == len(takes):
        others = f", or give {', '.join(takes[1:])}" if len(takes) > 1 else ""
        yield FieldError(f"config.{takes[0]}", f"Required{others}.")
    yield from _values(config)


def _is_empty(value: object) -> bool:
    """Null or an empty set of headers. An empty password is a value."""
    return value is None or value == {}


def _text(value: object) -> Secret:
    if isinstance(value, dict):
        return Secret(msgspec.json.encode({name: secret.get_secret_value() for name, secret in value.items()}))
    return Secret(value.get_secret_value())  # type: ignore[attr-defined]  # the only other kind of field is SecretStr


def _values(config: ConfigDraft) -> Iterator[FieldError]:
    """Whether the values can be sent. No message repeats a value."""
    plain_text = {"headerValue": config.header_value, "apiKey": config.api_key, "clientId": config.client_id}
    for name, field in plain_text.items():
        if field is not None:
            yield from _refused(name, check_header_value, field.get_secret_value())
    if config.private_key is not None and not is_signing_key(config.private_key.get_secret_value()):
        yield FieldError(
            "config.privateKey", "Must be a private key for signing as PEM: RSA (at least 2048 bits), EC or Ed25519."
        )
    if config.headers is not None:
        plain = {name: value.get_secret_value() for name, value in config.headers.items()}
        yield from _refused("headers", check_headers, plain)
    for name, field, banned in (("username", config.username, ":"), ("password", config.password, "")):
        if field is not None and not _fits_basic(field.get_secret_value(), banned):
            yield FieldError(
                f"config.{name}", "HTTP Basic allows no control characters, and no colon in the user name."
            )


def _refused(name: str, check: Callable[..., None], value: str | Mapping[str, str]) -> Iterator[FieldError]:
    try:
        check(value)
    except HeaderRefused as refused:
        yield FieldError(f"config.{name}", str(refused))


def _fits_basic(text: str, banned: str) -> bool:
    return not any(character < " " or character == "\x7f" or character in banned for character in text)

"""A server's credentials on their way in: what may be given, what is kept, what is cleared, and how they are sealed."""

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


def given(config: ConfigDraft) -> dict[str, Secret]:
    """The credentials that hold a value, by their names in JSON, each as the text that is sealed."""
    found = {name: getattr(config, name) for name in config.model_fields_set}
    return {json_name(name): _text(value) for name, value in found.items() if not _is_nothing(value)}


def cleared(config: ConfigDraft) -> set[str]:
    """The names given as null. They clear fields only where nothing else is given: values replace everything."""
    return {json_name(name) for name in config.model_fields_set if _is_nothing(getattr(config, name))}


def check(config: ConfigDraft, takes: Sequence[str], auth_type: AuthType) -> Iterator[FieldError]:
    """`takes` are the fields that go with the server. HTTP Basic needs all of them, a header any one, OAuth none."""
    names = set(given(config))
    for name in sorted(names - set(takes)):
        yield FieldError(f"config.{name}", f"Does not go with authType `{auth_type}` here.")
    missing = [name for name in takes if name not in names]
    if auth_type == AuthType.BASIC:
        yield from (FieldError(f"config.{name}", "Required.") for name in missing)
    elif auth_type == AuthType.HEADER and len(missing) == len(takes):
        others = f", or give {', '.join(takes[1:])}" if len(takes) > 1 else ""
        yield FieldError(f"config.{takes[0]}", f"Required{others}.")
    yield from _values(config)


def _is_nothing(value: object) -> bool:
    """Null, or headers of which there are none. An empty password is something."""
    return value is None or value == {}


def _text(value: object) -> Secret:
    if isinstance(value, dict):
        return Secret(msgspec.json.encode({name: each.get_secret_value() for name, each in value.items()}))
    return Secret(value.get_secret_value())  # type: ignore[attr-defined]  # the only other kind of field is SecretStr


def _values(config: ConfigDraft) -> Iterator[FieldError]:
    """What can be sent as a header. No message repeats a value."""
    plain_text = {"headerValue": config.header_value, "apiKey": config.api_key, "clientId": config.client_id}
    for name, field in plain_text.items():
        if field is not None:
            yield from _refused(name, check_header_value, field.get_secret_value())
    if config.private_key is not None and not is_signing_key(config.private_key.get_secret_value()):
        yield FieldError(
            "config.privateKey", "Not a private key for signing: give RSA (2048 bits or more), EC or Ed25519 as PEM."
        )
    if config.headers is not None:
        plain = {name: value.get_secret_value() for name, value in config.headers.items()}
        yield from _refused("headers", check_headers, plain)
    for name, field, banned in (("username", config.username, ":"), ("password", config.password, "")):
        if field is not None and not _goes_into_basic(field.get_secret_value(), banned):
            yield FieldError(f"config.{name}", "HTTP Basic cannot carry a control character, or a colon in the name.")


def _refused(name: str, check: Callable[..., None], value: str | Mapping[str, str]) -> Iterator[FieldError]:
    try:
        check(value)
    except HeaderRefused as refused:
        yield FieldError(f"config.{name}", str(refused))


def _goes_into_basic(text: str, banned: str) -> bool:
    return not any(character < " " or character == "\x7f" or character in banned for character in text)

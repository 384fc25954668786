"""The URL of a PostgreSQL database, as an operator writes it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from api.kit.crypto.secret import Secret
from api.kit.storage.postgres.address import PostgresAddress, PostgresHost, TlsMode

SCHEMES = ("postgresql", "postgres")
USUAL_PORT = 5432
PARAMETERS = ("host", "sslmode")
FORM = "postgresql://user:password@host:5432/database"

ENCODE = "Percent-encode `@`, `/` and `:` in the password."


class InvalidPostgresUrl(Exception):
    """The message says what to write. It never repeats the URL, which has a password in it."""


def parse_postgres_url(text: str, authorities: Path | None = None) -> PostgresAddress:
    try:
        return _parse(text, authorities)
    except ValueError:  # a bracket or a port that no URL may have
        raise InvalidPostgresUrl(f"must have the form {FORM}. {ENCODE}") from None


def _parse(text: str, authorities: Path | None) -> PostgresAddress:
    url = urlsplit(text)
    credentials, _, places = url.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    database = unquote(url.path.removeprefix("/"))
    if url.scheme not in SCHEMES or not (user and database) or "/" in database or url.fragment:
        raise InvalidPostgresUrl(f"must have the form {FORM}, with a user and a database. {ENCODE}")
    parameters = _parameters(url.query)
    hosts = _hosts(places, parameters.get("host"))
    tls = _tls_mode(parameters.get("sslmode"), hosts)
    return PostgresAddress(hosts, unquote(user), Secret(unquote(password)), database, tls, authorities)


def _parameters(query: str) -> dict[str, str]:
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    if parameters.keys() - set(PARAMETERS):
        raise InvalidPostgresUrl(f"may have only these parameters after the `?`: {', '.join(PARAMETERS)}.")
    return parameters


def _hosts(places: str, directory: str | None) -> tuple[PostgresHost, ...]:
    if directory is not None:
        if places or not directory.startswith("/"):
            raise InvalidPostgresUrl("`host` must be the directory of a Unix socket, with no other host.")
        return (PostgresHost(directory, USUAL_PORT),)
    hosts = tuple(_host(place) for place in places.split(","))
    if not all(host.name and host.port > 0 for host in hosts):
        raise InvalidPostgresUrl(f"must have the form {FORM}; several hosts are separated by commas. {ENCODE}")
    return hosts


def _host(place: str) -> PostgresHost:
    parts = urlsplit(f"//{place}")
    return PostgresHost(parts.hostname or "", USUAL_PORT if parts.port is None else parts.port)


def _tls_mode(mode: str | None, hosts: tuple[PostgresHost, ...]) -> TlsMode:
    if mode is None:
        return TlsMode.DISABLE if all(host.is_local for host in hosts) else TlsMode.VERIFY_FULL
    if mode not in list(TlsMode):
        raise InvalidPostgresUrl(f"`sslmode` must be one of {', '.join(TlsMode)}.")
    return TlsMode(mode)

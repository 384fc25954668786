"""The settings: name, type, default and error text of each environment variable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from api.access.record_limits import CountedKind, RecordLimit, usual_limits
from api.audit.repository import USUAL_DAYS
from api.kit.cache.memory import OWNER_BYTES, PROCESS_BYTES
from api.kit.crypto.secret import Secret
from api.kit.egress.policy import EgressPolicy, InvalidEgressPolicy
from api.kit.storage.postgres.address import PostgresAddress
from api.main.postgres_url import InvalidPostgresUrl, parse_postgres_url

PREFIX = "PLUGBOARD_"
MB = 1_000_000
MAX_CACHE_MB = 1_000_000
MAX_PORT = 65_535
USUAL_PORT = 8400
MAX_WORKERS = 64
USUAL_CONNECTIONS, MOST_CONNECTIONS = 4096, 1_000_000
MAX_CONNECTIONS = 100
MOST_DAYS = 36_500
MOST_RECORDS = 1_000_000
RECORDS = {
    "PLUGBOARD_MAX_SERVERS": CountedKind.SERVERS,
    "PLUGBOARD_MAX_AGENTS": CountedKind.AGENTS,
    "PLUGBOARD_MAX_API_KEYS": CountedKind.API_KEYS,
    "PLUGBOARD_MAX_WORKSPACES": CountedKind.WORKSPACES,
}
TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
MAX_NAME = 60
COLOR = re.compile("#[0-9a-fA-F]{6}")
ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?")
ADDRESSES = ("_API_BASE_URL", "_OAUTH_AUTHORIZE_URL", "_OAUTH_TOKEN_URL", "_OAUTH_REVOKE_URL")


StoreKind = Literal["sqlite", "postgres", "dynamodb"]
STORES: Mapping[str, StoreKind] = {"sqlite": "sqlite", "postgres": "postgres", "dynamodb": "dynamodb"}


class InvalidSetting(Exception):
    """The message names the variable and what to set. It never repeats a value that may be secret."""

    def __init__(self, variable: str, what_to_do: str) -> None:
        super().__init__(f"{variable}: {what_to_do}")


@dataclass(frozen=True, slots=True)
class OAuthApp:
    """The OAuth client that the operator has registered with a service."""

    client_id: str
    secret: Secret


@dataclass(frozen=True, slots=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8400
    data_dir: Path = Path("var")
    store: StoreKind = "sqlite"
    table: str = "plugboard"
    postgres: PostgresAddress | None = None
    postgres_connections: int = 10
    dynamodb_endpoint: str | None = None
    root_key: Secret | None = None
    kms_key_id: str | None = None
    public_url: str = "http://127.0.0.1:8400"
    egress: EgressPolicy = field(default_factory=EgressPolicy)
    workers: int = 1
    max_connections: int = USUAL_CONNECTIONS
    metrics_port: int = 0
    metrics_host: str = "127.0.0.1"
    trusted_proxies: str = ""
    cache_limits: tuple[int, int] = (PROCESS_BYTES, OWNER_BYTES)
    """The bytes that caches may hold in one process, and of one workspace."""

    audit_days: int = USUAL_DAYS
    record_limits: Mapping[CountedKind, RecordLimit] = field(default_factory=usual_limits)

    oauth_apps: Mapping[str, OAuthApp] = field(default_factory=dict)
    """OAuth apps by the prefix of their service (`NOTION`); only those with client id and client secret."""

    addresses: Mapping[str, str] = field(default_factory=dict)
    """Replacements for addresses in manifests, by variable. Some of the variables may belong to other programs."""

    return_origins: frozenset[str] = frozenset()
    """Origins to which the browser may return after connecting, besides Plugboard's own."""

    brand_name: str = "Plugboard"
    brand_color: str = ""
    """The name and the colour of the pages for people."""

    given: frozenset[str] = frozenset()
    """The names of all variables that are set, whether or not they are settings."""

    def address(self, variable: str) -> str | None:
        url = self.addresses.get(variable)
        return _base_url(variable, url) if url else None

    def reachable_with(self, urls: Iterable[str]) -> EgressPolicy:
        """The policy for requests to services, with the addresses that the operator has set for them."""
        hosts = {urlsplit(url).hostname or "" for url in urls}
        additional = EgressPolicy.parse(", ".join(sorted(hosts)))
        reachable = self.reachable
        return replace(
            reachable, names=reachable.names | additional.names, networks=(*reachable.networks, *additional.networks)
        )

    @property
    def reachable(self) -> EgressPolicy:
        """The policy for upstreams: never Plugboard itself or its data store."""
        here = {self.host, "127.0.0.1", "::1", "localhost"}
        own = {(host, self.port) for host in here} | {(host, None) for host in self._named_hosts() - here}
        metrics = {(self.metrics_host, self.metrics_port)} if self.metrics_port else set()
        ports = frozenset({self.port, self.metrics_port} - {0})
        return replace(self.egress, self_hosts=frozenset(own | metrics), self_ports=ports)

    def _named_hosts(self) -> set[str]:
        hosts = {urlsplit(url).hostname for url in (self.public_url, self.dynamodb_endpoint) if url}
        databases = {host.name for host in self.postgres.hosts} if self.postgres else set()
        return {host for host in hosts | databases if host and not host.startswith("/")}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        given = frozenset(name for name, text in environment.items() if text.strip())
        return replace(cls._read(_Reader(environment)), given=given)

    @classmethod
    def variables(cls) -> frozenset[str]:
        """The names of all settings that begin with `PLUGBOARD_`."""
        reader = _Reader({})
        cls._read(reader)
        return frozenset(name for name in reader.names if name.startswith(PREFIX))

    @classmethod
    def _read(cls, read: _Reader) -> Settings:
        port = read.number("PLUGBOARD_PORT", USUAL_PORT, 0, MAX_PORT)
        store = read.store("PLUGBOARD_STORE")
        return cls(
            host=read.text("PLUGBOARD_HOST", "127.0.0.1"),
            port=port,
            data_dir=Path(read.text("PLUGBOARD_DATA_DIR", "var")),
            store=store,
            table=read.matching("PLUGBOARD_TABLE", "plugboard", TABLE_NAME),
            postgres=read.postgres("PLUGBOARD_POSTGRES_URL", "PLUGBOARD_POSTGRES_CA", is_needed=store == "postgres"),
            postgres_connections=read.number("PLUGBOARD_POSTGRES_CONNECTIONS", 10, 1, MAX_CONNECTIONS),
            dynamodb_endpoint=read.url("PLUGBOARD_DYNAMODB_ENDPOINT", "") or None,
            root_key=read.secret("PLUGBOARD_ROOT_KEY"),
            kms_key_id=read.text("PLUGBOARD_KMS_KEY_ID", "") or None,
            public_url=read.url("OAUTH_REDIRECT_BASE_URL", f"http://127.0.0.1:{port or USUAL_PORT}"),
            egress=read.egress("PLUGBOARD_EGRESS_ALLOW"),
            workers=read.number("PLUGBOARD_WORKERS", 1, 1, MAX_WORKERS),
            max_connections=read.number("PLUGBOARD_MAX_CONNECTIONS", USUAL_CONNECTIONS, 1, MOST_CONNECTIONS),
            metrics_port=read.number("PLUGBOARD_METRICS_PORT", 0, 0, MAX_PORT),
            metrics_host=read.text("PLUGBOARD_METRICS_HOST", "127.0.0.1"),
            trusted_proxies=read.networks("PLUGBOARD_TRUSTED_PROXIES"),
            cache_limits=(
                read.megabytes("PLUGBOARD_CACHE_MB", PROCESS_BYTES),
                read.megabytes("PLUGBOARD_WORKSPACE_CACHE_MB", OWNER_BYTES),
            ),
            audit_days=read.number("PLUGBOARD_AUDIT_DAYS", USUAL_DAYS, 1, MOST_DAYS),
            record_limits=read.record_limits(),
            oauth_apps=read.oauth_apps(),
            addresses=read.addresses(),
            return_origins=read.origins("PLUGBOARD_RETURN_ORIGINS"),
            brand_name=read.name("PLUGBOARD_BRAND_NAME", "Plugboard"),
            brand_color=read.color("PLUGBOARD_BRAND_COLOR"),
        )


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.names: set[str] = set()

    def text(self, name: str, default: str) -> str:
        self.names.add(name)
        return self._environment.get(name, "").strip() or default

    def secret(self, name: str) -> Secret | None:
        text = self.text(name, "")
        return Secret(text) if text else None

    def number(self, name: str, default: int, least: int, most: int) -> int:
        text = self.text(name, str(default))
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise InvalidSetting(name, f"must be a whole number from {least} to {most}.")
        return int(text)

    def store(self, name: str) -> StoreKind:
        text = self.text(name, "sqlite")
        if text not in STORES:
            raise InvalidSetting(name, "must be `sqlite`, `postgres` or `dynamodb`.")
        return STORES[text]

    def megabytes(self, name: str, default: int) -> int:
        return self.number(name, default // MB, 1, MAX_CACHE_MB) * MB

    def record_limits(self) -> dict[CountedKind, RecordLimit]:
        usual = usual_limits()
        return {
            kind: replace(usual[kind], at_most=self.number(name, usual[kind].at_most, 1, MOST_RECORDS))
            for name, kind in RECORDS.items()
        }

    def matching(self, name: str, default: str, form: re.Pattern[str]) -> str:
        text = self.text(name, default)
        if not form.fullmatch(text):
            raise InvalidSetting(name, f"must match {form.pattern}.")
        return text

    def postgres(self, name: str, authorities: str, *, is_needed: bool) -> PostgresAddress | None:
        text, file = self.text(name, ""), self.text(authorities, "")
        if file and not Path(file).is_file():
            raise InvalidSetting(authorities, f"{file} is not a file.")
        try:
            return parse_postgres_url(text, Path(file) if file else None) if text or is_needed else None
        except InvalidPostgresUrl as error:
            raise InvalidSetting(name, str(error)) from None

    def name(self, name: str, default: str) -> str:
        text = self.text(name, default)
        if len(text) > MAX_NAME or not text.isprintable():
            raise InvalidSetting(name, f"must be one line of at most {MAX_NAME} characters.")
        return text

    def color(self, name: str) -> str:
        text = self.text(name, "")
        if text and not COLOR.fullmatch(text):
            raise InvalidSetting(name, "must be a colour of six digits, such as #0a7f5c.")
        return text

    def url(self, name: str, default: str) -> str:
        text = self.text(name, default)
        return _base_url(name, text) if text else ""

    def egress(self, name: str) -> EgressPolicy:
        try:
            return EgressPolicy.parse(self.text(name, ""))
        except InvalidEgressPolicy as error:
            raise InvalidSetting(name, str(error).removeprefix(f"{name}: ")) from error

    def networks(self, name: str) -> str:
        text = self.text(name, "")
        try:
            for entry in filter(None, map(str.strip, text.split(","))):
                ip_network(entry)
        except ValueError:
            raise InvalidSetting(
                name, "must be addresses and CIDRs, separated by commas, such as 10.0.0.0/8."
            ) from None
        return text

    def origins(self, name: str) -> frozenset[str]:
        origins = [entry for entry in map(str.strip, self.text(name, "").split(",")) if entry]
        if invalid := [origin for origin in origins if not ORIGIN.fullmatch(origin)]:
            raise InvalidSetting(
                name,
                f"{invalid[0]!r} is not an origin. Write each as https://console.example.com, separated by commas.",
            )
        return frozenset(origins)

    def oauth_apps(self) -> dict[str, OAuthApp]:
        names = [name for name in self._environment if name.endswith("_OAUTH_CLIENT_ID")]
        apps = {name.removesuffix("_OAUTH_CLIENT_ID"): self.text(name, "") for name in names}
        secrets = {prefix: self.secret(f"{prefix}_OAUTH_CLIENT_SECRET") for prefix in apps}
        return {prefix: OAuthApp(apps[prefix], secret) for prefix, secret in secrets.items() if apps[prefix] and secret}

    def addresses(self) -> dict[str, str]:
        names = [name for name in self._environment if name.endswith(ADDRESSES)]
        return {name: text for name in names if (text := self.text(name, ""))}


def _base_url(name: str, text: str) -> str:
    if not _is_base_url(text):
        raise InvalidSetting(name, "must be a URL such as https://plugboard.example.com, without query or fragment.")
    return text.rstrip("/")


def _is_base_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        is_valid = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # an unbalanced bracket, or an invalid port
        return False
    return is_valid and not set("?#") & set(text)

"""Every environment variable: its name, its type, its default, and what to say when it cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from api.kit.outbound import BadEgress, Egress
from api.kit.secret import Secret

MAX_PORT = 65_535
MAX_WORKERS = 64
MAX_METRICS_PORT = MAX_PORT - MAX_WORKERS + 1  # each process has a port of its own, from this one on
TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")


class BadSetting(Exception):
    """The text names the variable and says what to set. It never repeats a value that may be secret."""

    def __init__(self, variable: str, what_to_do: str) -> None:
        super().__init__(f"{variable}: {what_to_do}")


@dataclass(frozen=True, slots=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8400
    data_dir: Path = Path("var")
    store: Literal["sqlite", "dynamodb"] = "sqlite"
    table: str = "plugboard"
    dynamodb_endpoint: str | None = None
    root_key: Secret | None = None
    kms_key_id: str | None = None
    public_url: str = "http://127.0.0.1:8400"
    egress: Egress = field(default_factory=Egress)
    workers: int = 1
    metrics_port: int = 0
    trusted_proxies: str = ""
    oauth_apps: frozenset[str] = frozenset()
    """The prefixes (`NOTION`) for which a client id and a client secret are set."""

    @property
    def reachable(self) -> Egress:
        """Where upstreams may be: never at the service itself, or at what keeps its data."""
        here = {self.host, "127.0.0.1", "::1", "localhost"}
        own = {(host, self.port) for host in here} | {(host, None) for host in self._named_hosts() - here}
        metrics = range(self.metrics_port, self.metrics_port + self.workers) if self.metrics_port else ()
        return replace(self.egress, own=frozenset(own), own_ports=frozenset({self.port, *metrics} - {0}))

    def _named_hosts(self) -> set[str]:
        given = {urlsplit(url).hostname for url in (self.public_url, self.dynamodb_endpoint) if url}
        return {host for host in given if host}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        read = _Reader(environment)
        return cls(
            host=read.text("PLUGBOARD_HOST", "127.0.0.1"),
            port=read.number("PLUGBOARD_PORT", 8400, 0, MAX_PORT),
            data_dir=Path(read.text("PLUGBOARD_DATA_DIR", "var")),
            store=read.choice("PLUGBOARD_STORE", "sqlite", "dynamodb"),
            table=read.matching("PLUGBOARD_TABLE", "plugboard", TABLE_NAME),
            dynamodb_endpoint=read.url("PLUGBOARD_DYNAMODB_ENDPOINT", "") or None,
            root_key=read.secret("PLUGBOARD_ROOT_KEY"),
            kms_key_id=read.text("PLUGBOARD_KMS_KEY_ID", "") or None,
            public_url=read.url("OAUTH_REDIRECT_BASE_URL", "http://127.0.0.1:8400"),
            egress=read.egress("PLUGBOARD_EGRESS_ALLOW"),
            workers=read.number("PLUGBOARD_WORKERS", 1, 1, MAX_WORKERS),
            metrics_port=read.number("PLUGBOARD_METRICS_PORT", 0, 0, MAX_METRICS_PORT),
            trusted_proxies=read.networks("PLUGBOARD_TRUSTED_PROXIES"),
            oauth_apps=read.oauth_apps(),
        )


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str, default: str) -> str:
        return self._environment.get(name, "").strip() or default

    def secret(self, name: str) -> Secret | None:
        text = self.text(name, "")
        return Secret(text) if text else None

    def number(self, name: str, default: int, least: int, most: int) -> int:
        text = self.text(name, str(default))
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise BadSetting(name, f"must be a whole number from {least} to {most}.")
        return int(text)

    def choice(
        self, name: str, default: Literal["sqlite"], other: Literal["dynamodb"]
    ) -> Literal["sqlite", "dynamodb"]:
        match self.text(name, default):
            case "sqlite":
                return default
            case "dynamodb":
                return other
            case _:
                raise BadSetting(name, f"must be `{default}` or `{other}`.")

    def matching(self, name: str, default: str, form: re.Pattern[str]) -> str:
        text = self.text(name, default)
        if not form.fullmatch(text):
            raise BadSetting(name, f"must match {form.pattern}.")
        return text

    def url(self, name: str, default: str) -> str:
        text = self.text(name, default)
        if text and not _is_base_url(text):
            raise BadSetting(name, "must be a URL such as https://plugboard.example.com, without query or fragment.")
        return text.rstrip("/")

    def egress(self, name: str) -> Egress:
        try:
            return Egress.parse(self.text(name, ""))
        except BadEgress as error:
            raise BadSetting(name, str(error).removeprefix(f"{name}: ")) from error

    def networks(self, name: str) -> str:
        text = self.text(name, "")
        try:
            for each in filter(None, map(str.strip, text.split(","))):
                ip_network(each)
        except ValueError:
            raise BadSetting(name, "must be addresses and CIDRs, comma between, such as 10.0.0.0/8.") from None
        return text

    def oauth_apps(self) -> frozenset[str]:
        ids = {name.removesuffix("_OAUTH_CLIENT_ID") for name in self._environment if name.endswith("_OAUTH_CLIENT_ID")}
        return frozenset(prefix for prefix in ids if self._has_app(prefix))

    def _has_app(self, prefix: str) -> bool:
        return all(self.text(f"{prefix}_OAUTH_CLIENT_{part}", "") for part in ("ID", "SECRET"))


def _is_base_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half a bracket, or a port that is none
        return False
    return known and not set("?#") & set(text)

"""The real nginx and Caddy in front of a Plugboard, with the files of `infra/proxies`.

A test may not listen on port 443 nor write to /etc: only ports, paths and the certificate are replaced.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.e2e.process import free_port, until
from tests.fakes.certificates import Authority

PROXY_FILES = Path(__file__).parents[2] / "infra" / "proxies"
HOST = "plugboard.example.com"
PLUGBOARD = "127.0.0.1:8400"
CLIENT_ADDRESS = "127.0.0.7"
"""The proxy has another one."""
PATIENCE_SECONDS = 60.0
NGINX = """
pid {folder}/pid; error_log {folder}/error.log; {user} daemon off; events {{}}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/plugboard.conf;
}}
"""
CADDY = "{\n admin off\n auto_https off\n}\n"


@dataclass(frozen=True)
class TlsProxy:
    folder: Path
    port: int
    trust: ssl.SSLContext

    def client(self, key: str | None = None, **headers: str) -> httpx2.Client:
        """A client at an address of its own."""
        sent = {"Host": HOST} | ({"Authorization": f"Bearer {key}"} if key else {}) | headers
        url = f"https://127.0.0.1:{self.port}"
        transport = _NamedHost(verify=self.trust, local_address=CLIENT_ADDRESS)
        return httpx2.Client(base_url=url, headers=sent, transport=transport, timeout=PATIENCE_SECONDS, trust_env=False)

    @property
    def log(self) -> str:
        """What the proxy logged, about itself and about requests."""
        return "".join(file.read_text() for file in sorted(self.folder.glob("*.log")))


class _NamedHost(httpx2.HTTPTransport):
    """Asks an address for the host's certificate."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": HOST}
        return super().handle_request(request)


@contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[TlsProxy]:
    proxy = _proxy(folder)
    text = _replaced(
        "nginx.conf",
        {
            "listen 443 ssl": f"listen 127.0.0.1:{proxy.port} ssl",
            PLUGBOARD: upstream,
            "/etc/ssl/": f"{folder}/",
            "/var/log/nginx/": f"{folder}/",
        },
    )
    (folder / "plugboard.conf").write_text(text)
    user = "user root;" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, user=user))
    with _running(proxy, "nginx", "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")):
        yield proxy


@contextmanager
def caddy(folder: Path, upstream: str) -> Iterator[TlsProxy]:
    proxy = _proxy(folder)
    own = f"https://{HOST}:{proxy.port} {{\n bind 127.0.0.1\n tls {folder}/plugboard.pem {folder}/plugboard.key"
    text = _replaced("Caddyfile", {f"\n{HOST} {{": f"\n{own}", PLUGBOARD: upstream})
    (folder / "Caddyfile").write_text(CADDY + text)
    with _running(proxy, "caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")):
        yield proxy


PROXIES: dict[str, Callable[[Path, str], Any]] = {"nginx": nginx, "caddy": caddy}


def _proxy(folder: Path) -> TlsProxy:
    authority = Authority(folder)
    certificate = authority.certificate(HOST)
    for name in ("plugboard.pem", "plugboard.key"):
        shutil.copy(certificate, folder / name)
    return TlsProxy(folder, free_port(), authority.trusted())


def _replaced(name: str, replacements: dict[str, str]) -> str:
    text = (PROXY_FILES / name).read_text(encoding="utf-8")
    for old, new in replacements.items():
        assert old in text, f"{name} has no {old!r}"
        text = text.replace(old, new)
    return text


@contextmanager
def _running(proxy: TlsProxy, *command: str) -> Iterator[None]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(proxy.folder)}
    with (proxy.folder / "output.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        until(lambda: process.poll() is not None or _accepts(proxy.port))
        assert process.poll() is None, proxy.log
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

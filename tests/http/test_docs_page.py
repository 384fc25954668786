"""The API reference at `/docs`: which files it consists of, and how they are sent."""

import gzip
import hashlib
import re
import socket
from pathlib import Path

import httpx2
import pytest

from api.http.openapi.reference_page import FOLDER, SCALAR_SHA256, SCALAR_VERSION
from tests.harness import Plugboard
from tests.http.operations_on_workspace import CONTRACT_FILE, assert_problem

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def scripts(plugboard: Plugboard) -> list[str]:
    return re.findall(r'<script defer src="([^"]+)"></script>', plugboard.caller().get("/docs").text)


@pytest.fixture
def paths(plugboard: Plugboard) -> list[str]:
    """Of all files of the documentation."""
    return ["/docs", "/openapi.yaml", *(f"/{name}" for name in scripts(plugboard))]


def test_the_page_has_only_scripts_of_ours_in_files(plugboard: Plugboard) -> None:
    text = plugboard.caller().get("/docs").text

    assert len(scripts(plugboard)) == text.count("<script") == 2
    assert all(re.fullmatch(r"docs/(start|scalar)-[0-9a-f]{16}\.js", name) for name in scripts(plugboard))
    assert not re.search(r"https?:|//|\son\w+=|<style|\sstyle=", text.replace("<!doctype", ""))


def test_the_page_may_run_only_files_of_ours_and_reach_nothing_else(plugboard: Plugboard) -> None:
    response = plugboard.caller().get("/docs")

    assert response.headers.get_list("Content-Security-Policy") == [POLICY]
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"


def test_the_renderer_is_the_one_that_is_named() -> None:
    script = gzip.decompress((FOLDER / "scalar.js.gz").read_bytes())

    assert hashlib.sha256(script).hexdigest() == SCALAR_SHA256
    assert SCALAR_VERSION.encode() in script
    assert f"`@scalar/api-reference` {SCALAR_VERSION}" in (FOLDER / "README.md").read_text()
    assert "MIT License" in (FOLDER / "LICENSE").read_text()


def test_scripts_are_kept_for_ever_and_the_rest_is_checked_each_time(plugboard: Plugboard, paths: list[str]) -> None:
    for path in paths:
        headers = plugboard.caller().get(path).headers
        expected = "public, max-age=31536000, immutable" if path.endswith(".js") else "no-cache"
        assert headers.get_list("Cache-Control") == [expected]
        assert {name: headers.get_list(name) for name in SAFE} == {name: [value] for name, value in SAFE.items()}


def test_a_script_has_the_hash_of_its_content_in_its_name(plugboard: Plugboard) -> None:
    for name in scripts(plugboard):
        response = plugboard.caller().get(f"/{name}")
        assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert hashlib.sha256(response.content).hexdigest().startswith(name[-19:-3])


def test_files_are_sent_compressed_to_clients_that_ask_for_it(plugboard: Plugboard, paths: list[str]) -> None:
    for path in paths:
        small = plugboard.caller(**{"Accept-Encoding": "br, GZIP;q=0.5"}).get(path)
        plain = plugboard.caller(**{"Accept-Encoding": "gzip;q=0.0, identity"}).get(path)
        assert small.headers["Content-Encoding"] == "gzip"
        assert "Content-Encoding" not in plain.headers
        assert small.content == plain.content
        assert int(plain.headers["Content-Length"]) == len(plain.content)
        assert [small.headers["Vary"], plain.headers["Vary"]] == ["Accept-Encoding"] * 2


def test_a_client_with_the_current_version_gets_no_body(plugboard: Plugboard, paths: list[str]) -> None:
    for path in paths:
        first = plugboard.caller().get(path)
        again = plugboard.caller().get(path, headers={"If-None-Match": f'"other", {first.headers["ETag"]}'})
        other = plugboard.caller().get(path, headers={"If-None-Match": '"other"'})
        assert (again.status_code, again.content, other.status_code) == (304, b"", 200)
        assert again.headers["ETag"] == first.headers["ETag"] == other.headers["ETag"]
        assert not {"Content-Length", "Content-Type", "Content-Encoding"} & {*again.headers}


def test_head_answers_like_get(plugboard: Plugboard, paths: list[str]) -> None:
    for path in paths:
        head = plugboard.caller().head(path)
        assert (head.status_code, head.content) == (200, b"")


def test_the_contract_is_the_committed_one_in_every_encoding(plugboard: Plugboard) -> None:
    assert plugboard.caller().get("/openapi.yaml").content == CONTRACT_FILE.read_bytes()


@pytest.mark.parametrize("name", ["scalar.js.gz", "start.js", "LICENSE", "scalar-0000000000000000.js", "..%2fstart.js"])
def test_there_are_no_other_files(plugboard: Plugboard, name: str) -> None:
    assert_problem(plugboard.caller().get(f"/docs/{name}"), 404, "not_found")


def test_a_reader_that_is_slow_gets_the_whole_script(plugboard: Plugboard) -> None:
    """The response is many times larger than the buffers of the connection."""
    name = next(name for name in scripts(plugboard) if "scalar" in name)
    url = httpx2.URL(plugboard.url)
    received = bytearray()
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect((url.host, url.port or 80))
        reader.sendall(f"GET /{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        while piece := reader.recv(4096):
            received += piece

    head, _, body = bytes(received).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert hashlib.sha256(body).hexdigest() == SCALAR_SHA256


def test_the_files_are_part_of_the_package() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()

    assert 'api = ["http/openapi/scalar/*"]' in text

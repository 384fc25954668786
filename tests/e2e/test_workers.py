"""Several processes on one database are one Plugboard."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from tests.e2e.process import Process, serving
from tests.harness import WEATHER


def statuses(process: Process, key: str, path: str) -> set[int]:
    """Each on a connection of its own, so that every process answers some of them."""
    result = set()
    for _ in range(24):
        with process.caller(key) as client:
            result.add(client.get(path).status_code)
    return result


def post(process: Process, key: str, path: str, body: object) -> httpx2.Response:
    with process.caller(key) as client:
        return client.post(path, json=body)


@pytest.mark.requirement("AUT-04")
def test_a_change_by_one_process_is_visible_in_all(tmp_path: Path) -> None:
    with serving(tmp_path / "var", PLUGBOARD_WORKERS=2) as process:
        admin, path = process.key(), f"/api/workspaces/{process.workspace_id()}"
        created = post(process, admin, f"{path}/api-keys", {"name": "k", "scope": "read"}).json()
        server = post(process, admin, f"{path}/mcp-servers", WEATHER).json()
        assert statuses(process, created["apiKey"], f"{path}/mcp-servers/{server['id']}") == {200}

        with process.caller(admin) as client:
            assert client.delete(f"{path}/api-keys/{created['id']}").status_code == 204
        assert statuses(process, created["apiKey"], f"{path}/mcp-servers/{server['id']}") == {401}

        with process.caller(admin) as client:
            assert client.delete(f"{path}/mcp-servers/{server['id']}").status_code == 204
        assert statuses(process, admin, f"{path}/mcp-servers/{server['id']}") == {404}

    assert process.popen.returncode == 0
    assert "Traceback" not in process.log()

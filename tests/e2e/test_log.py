"""The log of a process: what can be found in it, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.process import serving


@pytest.mark.requirement("ENC-18")
def test_each_request_is_a_json_log_line_without_content(tmp_path: Path) -> None:
    with serving(tmp_path / "var") as process, process.caller(process.key()) as admin:
        workspace_id = process.workspace_id()
        response = admin.get(
            f"/api/workspaces/{workspace_id}/mcp-servers?limit=7&q=query-canary",
            headers={
                "X-Request-Id": "find-me-again",
                "User-Agent": "agent-canary",
                "Referer": "https://referer-canary",
            },
        )
        assert response.status_code == 200
        assert "Server" not in response.headers
        key_id = admin.get(f"/api/workspaces/{workspace_id}/api-keys").json()[0]["id"]
        admin.get("/path-canary")
        lines, logged = process.log_lines(), process.log()

    (line,) = [line for line in lines if line.get("request_id") == "find-me-again"]
    assert line == {
        "at": line["at"],
        "level": "info",
        "logger": "plugboard.request",
        "message": "request",
        "request_id": "find-me-again",
        "method": "GET",
        "route": line["route"],
        "status": 200,
        "bytes": len(response.content),
        "ms": line["ms"],
        "client_address": "127.0.0.1",
        "workspace": workspace_id,
        "key": key_id,
    }
    assert line["route"].endswith("/mcp-servers")
    assert workspace_id not in line["route"]
    assert "canary" not in logged
    assert "limit=7" not in logged
    assert process.key() not in logged

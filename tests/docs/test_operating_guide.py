"""The blocks of `docs/operating.md`, and what its tables say of a running Plugboard."""

import json
import re
from pathlib import Path

from api.main.settings import Settings
from tests.docs.reader import Reader, in_a_shell
from tests.documents import code_in, guide
from tests.harness import Plugboard, served

OPERATING = guide("operating")


def test_a_workspace_created_before_the_first_start_is_served(tmp_path: Path) -> None:
    _, printed = in_a_shell(OPERATING.block("sh", "first admin key"), tmp_path)
    created = json.loads(printed)

    with served(Settings(data_dir=tmp_path / "var")) as plugboard, plugboard.caller(created["apiKey"]) as admin:
        assert admin.get(f"/api/workspaces/{created['workspaceId']}").json()["name"] == "Acme"


def test_a_running_plugboard_is_alive_and_ready(reader: Reader) -> None:
    alive, ready = reader.run(OPERATING, "/readyz")

    assert (alive, ready) == ('{"status":"alive"}', '{"status":"ready"}')


def test_an_operator_key_reads_the_metrics(reader: Reader) -> None:
    printed = reader.run(OPERATING, "/metrics", OPERATOR=reader.workspace.plugboard.operator_key)

    assert "# TYPE plugboard_tool_calls_total counter" in printed


def test_the_table_of_metrics_is_complete(plugboard: Plugboard) -> None:
    shown = re.findall(r"^# TYPE (plugboard_\w+)", plugboard.operator.get("/metrics").text, re.MULTILINE)

    assert sorted(code_in(row[0])[0] for row in OPERATING.table("Metrics")) == sorted(shown)

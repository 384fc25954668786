"""The API reference in a real browser: everything is on it, and it keeps to its policy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.chromium import BROWSER, Page, chromium
from tests.e2e.process import serving
from tests.http.operations_on_workspace import OPERATIONS

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium: apt-get install chromium")
# A section is rendered when it comes into view.
SECTION = """
(section => {{
  section?.scrollIntoView();
  return section?.innerText.includes("curl ") && section.innerText;
}})([...document.querySelectorAll("[id]")].find(part => part.id.endsWith({where})))
"""
SEARCH = "document.querySelector('[role=dialog] input')"
FOUND = "[...document.querySelectorAll('[role=dialog] [role=option]')].map(item => item.innerText)"


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    with serving(tmp_path / "data") as process:
        async with chromium() as tab:
            await tab.open(f"{process.url}/docs")
            await tab.until("document.querySelector('#reference h1')")
            yield tab
            assert await tab.value("window.violations") == []
            assert tab.errors == []
            requested = {url for url in tab.requests if not url.startswith("data:")}
            assert {url.removeprefix(process.url).partition("-")[0] for url in requested} == {
                *("/docs", "/openapi.yaml", "/docs/start", "/docs/scalar"),
            }


@pytest.mark.slow
async def test_every_operation_is_rendered_with_a_request_to_copy(page: Page) -> None:
    for operation in OPERATIONS:
        where = json.dumps(f"/{operation.method}{operation.path}")
        text: str = await page.until(SECTION.format(where=where))
        assert operation.described["summary"] in text
        assert operation.path in text
        assert operation.described["description"].partition("\n\n")[0].partition("`")[0].strip() in text


async def test_what_config_takes_is_in_a_table_with_examples(page: Page) -> None:
    text: str = await page.until(SECTION.format(where=json.dumps("/POST/api/workspaces/{workspaceId}/mcp-servers")))

    words = " ".join(text.split())
    for expected in ("max length: 100", "header posthog apiKey", "clientId, clientSecret or privateKey, scope"):
        assert expected in words


async def test_a_field_is_found_by_its_name(page: Page) -> None:
    await page.press("k", "KeyK", 75, control=True)
    await page.until(f"{SEARCH}?.focus() || document.activeElement === {SEARCH}")
    await page.write("enabledMcpServerToolNames")

    found = await page.until(f"{FOUND}.some(text => text.includes('agent')) && {FOUND}")

    assert any("/agents" in text for text in found)

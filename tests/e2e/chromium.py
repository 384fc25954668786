"""Chromium, driven by its own protocol (Chrome DevTools). Debian's package is enough."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

BROWSER = os.environ.get("PLUGBOARD_TEST_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE_SECONDS = 60.0
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-extensions", "--no-proxy-server"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
    "--window-size=1400,950",
)
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""
UNTIL = """
new Promise(done => {{
  const look = () => {{ const value = ({expression}); value ? done(value) : setTimeout(look, 100); }};
  look();
}})
"""


class Page:
    """A tab. `requests` and `errors` list what the page asked for and what went wrong on it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._session: dict[str, str] = {}
        self._last = 0
        self.requests: list[str] = []
        self.errors: list[str] = []

    async def begin(self) -> None:
        target = await self._send("Target.createTarget", url="about:blank")
        attached = await self._send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Network", "Runtime", "Page", "Log"):
            await self._send(f"{domain}.enable")
        await self._send("Page.addScriptToEvaluateOnNewDocument", source=WATCH)

    async def open(self, url: str) -> None:
        await self._send("Page.navigate", url=url)

    async def value(self, expression: str) -> Any:
        """Of an expression in JavaScript, on the page."""
        reply = await self._send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    async def until(self, expression: str) -> Any:
        """The value, as soon as it is true."""
        return await self.value(UNTIL.format(expression=expression))

    async def press(self, key: str, code: str, number: int, *, control: bool = False) -> None:
        pressed = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": 2 if control else 0}
        for kind in ("rawKeyDown", "keyUp"):
            await self._send("Input.dispatchKeyEvent", type=kind, **pressed)

    async def write(self, text: str) -> None:
        await self._send("Input.insertText", text=text)

    async def _send(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": parameters, **self._session})
        while True:
            message = await self._socket.receive_json(timeout=PATIENCE_SECONDS)
            if message.get("id") == self._last:
                assert "error" not in message, message["error"]
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        match message:
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": url}}}:
                self.requests.append(url)
            case {"method": "Runtime.exceptionThrown" | "Log.entryAdded", "params": details}:
                self.errors.append(json.dumps(details))


@asynccontextmanager
async def chromium() -> AsyncIterator[Page]:
    assert BROWSER
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            BROWSER, *FLAGS, f"--user-data-dir={folder}", "about:blank", stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE, env={**os.environ, "HOME": folder},
        )  # fmt: skip
        try:
            async with (
                aiohttp.ClientSession() as client,
                client.ws_connect(await _address(process), max_msg_size=0) as socket,
            ):
                page = Page(socket)
                await page.begin()
                yield page
        finally:
            process.terminate()
            await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for line in process.stderr:
            if b"DevTools listening on " in line:
                return line.decode().rpartition(" ")[2].strip()
    raise AssertionError("Chromium did not start.")

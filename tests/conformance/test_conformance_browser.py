from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.conformance.browser import Browser
from tests.harness import listening

PUBLIC = "https://plugboard.example.com"
PAGE = b'<form method="post"><button>Connect</button></form>'


class OtherHost:
    """Redirects every request to the URL in its query."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await live(receive, send)
        self.seen.append(headers_of(scope))
        back = parse_qs(scope["query_string"].decode())["back"][0]
        return await answer(send, 302, location=f"{back}?code=c")


class Service:
    """A page with a button, on which it gives a cookie and sends away; who comes back with the cookie is connected."""

    def __init__(self, elsewhere: str, page: bytes = PAGE) -> None:
        self.elsewhere, self.page = elsewhere, page
        self.origin = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await live(receive, send)
        headers = headers_of(scope)
        match scope["method"], scope["path"]:
            case "GET", "/connect/ticket":
                return await answer(send, 200, self.page)
            case "POST", "/connect/ticket":
                self.origin = headers["origin"]
                there = f"{self.elsewhere}/authorize?back={PUBLIC}/callback"
                return await answer(send, 303, location=there, set_cookie="__Host-c=1; Secure; Path=/")
            case "GET", "/callback":
                text = "connected=s" if headers.get("cookie") == "__Host-c=1" else "error=other_browser"
                return await answer(send, 303, location=f"/done?{text}", set_cookie="__Host-c=; Max-Age=0; Path=/")
            case _:
                return await answer(send, 200, b"done")


async def live(receive: Any, send: Any) -> None:
    for event in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{event}.complete"})


def headers_of(scope: Any) -> dict[str, str]:
    return {name.decode().lower(): value.decode() for name, value in scope["headers"]}


async def answer(send: Any, status: int, body: bytes = b"", **headers: str) -> None:
    listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})


def test_the_browser_returns_with_its_cookie_and_sends_it_to_no_other_host() -> None:
    elsewhere = OtherHost()
    with listening(elsewhere) as there:
        service = Service(there)
        with listening(service) as here:
            browser = Browser(PUBLIC, here)

            assert browser.connect(f"{PUBLIC}/connect/ticket") == {"connected": "s"}

    assert service.origin == PUBLIC
    assert [urls.partition("?")[0] for urls in browser.visited] == [
        f"{PUBLIC}/connect/ticket",
        f"{PUBLIC}/connect/ticket",
        f"{there}/authorize",
        f"{PUBLIC}/callback",
        f"{PUBLIC}/done",
    ]
    assert browser.cookies == {}
    assert "cookie" not in elsewhere.seen[0]


@pytest.mark.parametrize("page", [b"", PAGE + PAGE, b'<form method="get"></form>'])
def test_a_page_without_its_button_is_an_error(page: bytes) -> None:
    with listening(Service("http://127.0.0.1:9", page)) as here, pytest.raises(AssertionError):
        Browser(PUBLIC, here).connect(f"{PUBLIC}/connect/ticket")

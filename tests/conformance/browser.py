"""A browser, as far as connecting needs one: pages, one button, redirects to anywhere, and a cookie."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx2

from tests.harness import NO_TLS, PATIENCE_SECONDS

MAX_REDIRECTS = 10


class Browser:
    """What is public at `public` is served at `served`, as behind a proxy that ends TLS.

    Its cookies are those of `public` alone, and it sends them nowhere else.
    """

    def __init__(self, public: str, served: str) -> None:
        self._public, self._served = public, served
        self.cookies: dict[str, str] = {}
        self.visited: list[str] = []

    def connect(self, page: str) -> Mapping[str, str]:
        """Presses the button on the page and goes where it is sent; what the query of the last URL says."""
        shown = self._send("GET", page)
        assert shown.status_code == 200, shown.text
        url = urljoin(page, _form(shown.text))
        response = self._send("POST", url, Origin=self._public)
        for _ in range(MAX_REDIRECTS):
            if not response.has_redirect_location:
                text = dict(parse_qsl(urlsplit(url).query))
                assert response.status_code == (400 if "error" in text else 200), response.text
                return {name: value for name, value in text.items() if name != "serverId"}
            url = urljoin(url, response.headers["Location"])
            response = self._send("GET", url)
        raise AssertionError(f"more than {MAX_REDIRECTS} redirects")

    def _send(self, method: str, url: str, **headers: str) -> httpx2.Response:
        self.visited.append(url)
        is_ours = urljoin(url, "/") == f"{self._public}/"
        sent = headers | ({"Cookie": self._cookie} if is_ours and self.cookies else {})
        where = self._served + url.removeprefix(self._public) if is_ours else url
        with httpx2.Client(verify=NO_TLS, timeout=PATIENCE_SECONDS, trust_env=False) as client:
            response = client.request(method, where, headers=sent)
        if is_ours:
            self._store_cookies(response.headers.get_list("Set-Cookie"))
        return response

    @property
    def _cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _store_cookies(self, notes: list[str]) -> None:
        for line in notes:
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.value
                if morsel["max-age"] == "0":
                    del self.cookies[name]


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.actions: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        result = dict(attrs)
        if tag == "form" and (result.get("method") or "").lower() == "post":
            self.actions.append(result.get("action") or "")


def _form(page: str) -> str:
    """Where the one form of the page goes."""
    forms = _Forms()
    forms.feed(page)
    assert len(forms.actions) == 1, page
    return forms.actions[0]

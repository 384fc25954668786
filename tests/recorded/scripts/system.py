"""System routes, client metadata, pages, unknown paths, and bytes that are not HTTP."""

from __future__ import annotations

from tests.recorded.script import ANONYMOUS, RawRequest, Script, get, post

ISSUER = "9f86d081884c7d659a2feaa0c55ad015"
HOST = b"Host: plugboard\r\n"
CLOSE = HOST + b"Connection: close\r\n"

SCRIPT: Script = [
    get("alive", "/healthz", ANONYMOUS),
    get("ready", "/readyz", ANONYMOUS),
    get("alive, with a bad key", "/healthz", "malformed"),
    get("a request id of the caller", "/healthz", headers={"X-Request-Id": "caller-request.1"}),
    get("a request id that is too short", "/healthz", headers={"X-Request-Id": "short"}),
    get("a request id with other characters", "/healthz", headers={"X-Request-Id": "an id with spaces"}),
    get("the documentation page", "/docs", ANONYMOUS),
    get("the contract", "/openapi.yaml", ANONYMOUS),
    get("the client metadata", "/client-metadata.json", ANONYMOUS),
    get("the client metadata for an issuer", f"/client-metadata/{ISSUER}.json", ANONYMOUS),
    get("the client metadata for no issuer", "/client-metadata/nothing.json", ANONYMOUS),
    get("the client metadata without a suffix", f"/client-metadata/{ISSUER}", ANONYMOUS),
    get("the client metadata in capitals", f"/client-metadata/{ISSUER.upper()}.json", ANONYMOUS),
    get("the services", "/api/services", "read"),
    get("the services, with a query", "/api/services?limit=1&x=y", "invoke"),
    get("the metrics with no key", "/metrics", ANONYMOUS),
    get("the metrics with an admin's key", "/metrics"),
    get("the metrics", "/metrics", "operator"),
    *(
        get(f"the result page: {query}", f"/connected?{query}", ANONYMOUS)
        for query in (
            *(
                "connected=server_1",
                "connected=",
                "error=expired",
                "error=denied",
                "error=refused",
                "error=unavailable",
            ),
            *("error=other_browser", "error=other_service", "error=wrong_issuer", "error=not_granted"),
            *("error=not_allowed", "error=server_changed", "error=foreign_form", "error=%3Cscript%3E", "error="),
            "connected=server_1&error=denied",
        )
    ),
    get("the result page of nothing", "/connected", ANONYMOUS),
    *(
        get(f"no such path: {path}", path)
        for path in (
            *("/", "/api", "/api/", "/api/nothing", "/api/workspaces/", "/api/workspaces/{workspace}/"),
            *("/api/workspaces/{workspace}/nothing", "/api/workspaces/{workspace}/agents/a/b/c", "/DOCS"),
            *(
                "//docs",
                "/docs%00",
                "/api/%2e%2e/docs",
                "/healthz/",
                "/healthz/x",
                "/favicon.ico",
                "/robots.txt",
                "/connect",
            ),
            *("/api/workspaces/{workspace}/agents/{no_agent}/mcp", "/me", "/api/mcp/oauth"),
        )
    ),
    post("a body where none is expected", "/healthz", {"a": 1}),
    get("a service's query is no secret", "/api/services?apiKey=x", ANONYMOUS),
    RawRequest("no request at all", b"nonsense\r\n\r\n"),
    RawRequest("no version", b"GET /healthz\r\n\r\n"),
    RawRequest("HTTP/1.0", b"GET /healthz HTTP/1.0\r\n\r\n"),
    RawRequest("an absolute URL", b"GET http://elsewhere.example/healthz HTTP/1.1\r\n" + CLOSE + b"\r\n"),
    RawRequest("a header without a colon", b"GET /healthz HTTP/1.1\r\nnonsense\r\n" + CLOSE + b"\r\n"),
    RawRequest(
        "two lengths", b"POST /healthz HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" + CLOSE + b"\r\nab"
    ),
    RawRequest("an unknown method", b"BREW /healthz HTTP/1.1\r\n" + CLOSE + b"\r\n"),
    RawRequest("OPTIONS of the server itself", b"OPTIONS * HTTP/1.1\r\n" + CLOSE + b"\r\n"),
]

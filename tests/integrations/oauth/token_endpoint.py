"""An authorization server that says one thing, and the way to it that the product takes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qsl

from api.kit.egress.policy import EgressPolicy, check_url
from api.kit.http_client.client import HttpClient
from api.upstream_http import UpstreamHttp as Http
from integrations.oauth.model import AuthorizationServer, OAuthClient
from tests.fakes.raw_upstream import HOME, RawUpstream, ReceivedRequest, Responder, responding, upstream

EGRESS = EgressPolicy.parse(HOME)
PUBLIC = OAuthClient("the client", "none")
CONFIDENTIAL = OAuthClient("the client", "client_secret_post", secret="s e:cret")


@dataclass
class TokenEndpoint:
    server: RawUpstream
    http: Http
    provider: AuthorizationServer

    @property
    def request(self) -> ReceivedRequest:
        (visit,) = self.server.requests
        return visit


def fields(visit: ReceivedRequest) -> dict[str, str]:
    assert visit.headers["content-type"] == "application/x-www-form-urlencoded"
    pairs = parse_qsl(visit.body.decode(), keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), "a field was sent twice"
    return dict(pairs)


def responding_json(value: object, status: str = "200 OK", **headers: str) -> Responder:
    return responding(json.dumps(value).encode(), status, Content_Type="application/json", **headers)


TOKENS = responding_json({"access_token": "new", "token_type": "bearer"})


@asynccontextmanager
async def token_endpoint(responder: Responder, *, seconds: float = 20.0) -> AsyncIterator[TokenEndpoint]:
    async with upstream(responder) as server:
        outbound = HttpClient(EGRESS)
        origin = check_url(server.url(), EGRESS).origin
        provider = AuthorizationServer("https://login.example/authorize", server.url("/token"))
        try:
            yield TokenEndpoint(server, Http(outbound, EGRESS, origin, {}, pool="grant", seconds=seconds), provider)
        finally:
            await outbound.close()

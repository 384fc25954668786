"""Codes and tokens of a fake authorization server: issue, rotate, expire, revoke."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable

from demo.oauth_provider.model import (
    AuthorizationRequest,
    Behaviour,
    Client,
    Code,
    Condition,
    Family,
    IssuedTokens,
    Kind,
    Refusal,
    Token,
)


class Grants:
    """Grants, codes and tokens of one provider. The caller holds the lock."""

    def __init__(self) -> None:
        self.mint: Callable[[Kind, Family], str] = _default_token_text
        self.behaviour = Behaviour()
        self.counts: Counter[str] = Counter()
        self.families: list[Family] = []
        self._codes: dict[str, Code] = {}
        self._tokens: dict[str, Token] = {}

    def code_for(self, request: AuthorizationRequest) -> str:
        text, mine = f"code-{secrets.token_urlsafe(24)}", self.behaviour
        scopes = request.scopes if mine.grants is None else mine.grants
        self._codes[text] = Code(request, mine.person, mine.workspace, scopes, time.monotonic() + mine.code_life)
        return text

    def exchange_code(self, client: Client, text: str, redirect_uri: str, verifier: str | None) -> IssuedTokens:
        code = self._codes.get(text)
        if code is None or code.asked.client.id != client.id:
            raise Refusal("unknown code")
        if code.is_used:
            self._refuse_code_reuse(code)
        code.is_used = True
        if code.expires_at <= time.monotonic():
            raise Refusal("unknown code")
        if code.asked.redirect_uri != redirect_uri:
            raise Refusal("bad redirect")
        if code.asked.challenge and not _verifier_matches(verifier, code.asked):
            raise Refusal("bad verifier")
        self.counts["exchanges"] += 1
        return self._tokens_for_code(code)

    def resource_of(self, text: str) -> str | None:
        """The resource of a code or a token."""
        if code := self._codes.get(text):
            return code.asked.resource
        token = self._tokens.get(text)
        return token.family.resource if token else None

    def has_challenge(self, text: str) -> bool:
        code = self._codes.get(text)
        return bool(code and code.asked.challenge)

    def refresh(self, client: Client, text: str) -> IssuedTokens:
        token = self._tokens.get(text)
        if token is None or token.kind != "refresh" or token.family.client != client.id:
            raise Refusal("unknown refresh token")
        family = token.family
        generation = token.generation if self.behaviour.rotates else family.generation
        family.presented[generation] += 1
        if token.used_at is not None and not self._in_grace(token):
            self._refuse_token_reuse(token)
        if self._condition(token) != "good":
            raise Refusal("unknown refresh token")
        return self._refreshed_tokens(token, generation)

    def issue_to_client(self, client: Client, scopes: tuple[str, ...], resource: str | None) -> IssuedTokens:
        family = self._family(client.id, client.id, self.behaviour.workspace, scopes, resource)
        self.counts["client_credentials"] += 1
        return IssuedTokens(family, self._token("access", family, 0), None)

    def valid_token(self, text: str | None) -> Token | None:
        token = self._tokens.get(text or "")
        return token if token and token.kind == "access" and self._condition(token) == "good" else None

    def condition(self, text: str | None) -> Condition:
        token = self._tokens.get(text or "")
        return self._condition(token) if token else "unknown"

    def token(self, text: str) -> Token | None:
        return self._tokens.get(text)

    def revoke(self, token: Token, with_family: bool) -> None:
        self.counts["revocations"] += 1
        token.is_revoked = True
        if with_family:
            token.family.is_revoked = True

    def expire(self, kind: Kind) -> None:
        for token in self._tokens.values():
            if token.kind == kind:
                token.expires_at = time.monotonic()

    def live_tokens(self, kind: Kind) -> list[str]:
        """The valid tokens, without used refresh tokens."""
        tokens = [value for value in self._tokens.values() if value.kind == kind and self._condition(value) == "good"]
        return [token.text for token in tokens if token.used_at is None]

    def _tokens_for_code(self, code: Code) -> IssuedTokens:
        requested, mine = code.asked, self.behaviour
        if mine.repeats_access and not mine.gives_refresh and (again := self._existing_installation(code)):
            code.family = again.family
            return again
        code.family = self._family(requested.client.id, code.person, code.workspace, code.scopes, requested.resource)
        refresh = self._token("refresh", code.family, 0) if mine.gives_refresh else None
        return IssuedTokens(code.family, self._token("access", code.family, 0), refresh)

    def _existing_installation(self, code: Code) -> IssuedTokens | None:
        for token in self._tokens.values():
            family = token.family
            if (family.client, family.workspace) == (code.asked.client.id, code.workspace) and self.valid_token(
                token.text
            ):
                family.scopes = tuple(dict.fromkeys([*family.scopes, *code.scopes]))
                return IssuedTokens(family, token, None)
        return None

    def _refreshed_tokens(self, token: Token, generation: int) -> IssuedTokens:
        family, mine = token.family, self.behaviour
        self.counts["refreshes"] += 1
        family.refreshed[generation] += 1
        if generation == family.generation:
            family.generation += 1
            family.presented.append(0)
            family.refreshed.append(0)
        if mine.refresh_ends_access:
            self._end_access(family)
        access = self._token("access", family, generation + 1)
        if not mine.rotates:
            return IssuedTokens(family, access, token if mine.repeats_refresh else None)
        token.used_at = token.used_at if token.used_at is not None else time.monotonic()
        return IssuedTokens(family, access, self._token("refresh", family, generation + 1))

    def _in_grace(self, token: Token) -> bool:
        used_at = token.used_at or 0.0
        if time.monotonic() - used_at > self.behaviour.grace or self._condition(token) != "good":
            return False
        self.counts["graces"] += 1
        return True

    def _refuse_token_reuse(self, token: Token) -> None:
        self.counts["reuses"] += 1
        token.family.reuses += 1
        token.family.is_revoked |= self.behaviour.revokes_family
        raise Refusal("used refresh token")

    def _refuse_code_reuse(self, code: Code) -> None:
        self.counts["code_reuses"] += 1
        if code.family:
            code.family.is_revoked = True
        raise Refusal("used code")

    def _end_access(self, family: Family) -> None:
        for token in self._tokens.values():
            if token.family is family and token.kind == "access":
                token.is_revoked = True

    def _family(
        self, client: str, person: str, workspace: str, scopes: tuple[str, ...], resource: str | None
    ) -> Family:
        self.families.append(Family(f"grant-{len(self.families) + 1}", client, person, workspace, scopes, resource))
        return self.families[-1]

    def _token(self, kind: Kind, family: Family, generation: int) -> Token:
        life = self.behaviour.access_life if kind == "access" else self.behaviour.refresh_life
        ends = None if life is None else time.monotonic() + life
        token = Token(self.mint(kind, family), kind, family, generation, ends)
        self._tokens[token.text] = token
        return token

    def _condition(self, token: Token) -> Condition:
        if token.is_revoked or token.family.is_revoked:
            return "revoked"
        return "expired" if token.expires_at is not None and token.expires_at <= time.monotonic() else "good"


def _verifier_matches(verifier: str | None, request: AuthorizationRequest) -> bool:
    digest = base64.urlsafe_b64encode(hashlib.sha256((verifier or "").encode()).digest()).rstrip(b"=").decode()
    return (verifier if request.challenge_method == "plain" else digest) == request.challenge


def _default_token_text(kind: Kind, _: Family) -> str:
    return f"{kind}-{secrets.token_urlsafe(24)}"

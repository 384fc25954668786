"""The authorization servers of services, and the account of a service's grant."""

from __future__ import annotations

import re
from collections.abc import Mapping

from integrations.errors import UpstreamError
from integrations.http_port import Http
from integrations.manifest import OAuth, Service
from integrations.oauth.account_hooks import load_account_hook
from integrations.oauth.model import Account, AuthorizationServer, ClientAuth, Revocation, Tokens

MAX_TEXT = 200
MAX_READ = 1000

_CLIENT_AUTH: Mapping[str, ClientAuth] = {"basic": "client_secret_basic", "body": "client_secret_post"}
_LINK = re.compile(r"https://[!-~]+")
# The errors of a hook that reads a response of an unexpected form.
_HOOK_ERRORS = (UpstreamError, ImportError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def authorization_server_of(service: Service, overrides: Mapping[str, str]) -> AuthorizationServer:
    """`overrides`: an operator's AUTHORIZE_URL, TOKEN_URL and REVOKE_URL, if they are set."""
    facts = _oauth(service)
    return AuthorizationServer(
        authorize_url=overrides.get("AUTHORIZE_URL", facts.authorize_url),
        token_url=overrides.get("TOKEN_URL", facts.token_url),
        authorize_params=facts.authorize_params,
        token_encoding=facts.token_body,
        scope_separator=facts.scope_separator,
        pkce=facts.pkce,
        revocation=_revocation(facts, overrides.get("REVOKE_URL")),
        errors=facts.errors,
    )


def client_auth_of(service: Service) -> ClientAuth:
    return _CLIENT_AUTH[_oauth(service).client_auth]


async def account_of(service: Service, http: Http, api_base_url: str, tokens: Tokens) -> Account:
    """The known fields of the account. A failure here is not an error: the grant is valid without them."""
    account = await _account_from_hook(service, http, api_base_url, tokens.access)
    paths = _oauth(service).account
    return Account(
        id=_display_text(account.id) or _display_text(_value_at(tokens.answer, paths.id)),
        name=_display_text(account.name) or _display_text(_value_at(tokens.answer, paths.name)),
        workspace=_display_text(account.workspace) or _display_text(_value_at(tokens.answer, paths.workspace)),
        url=_link(account.url) or _link(_value_at(tokens.answer, paths.url)),
    )


def _oauth(service: Service) -> OAuth:
    if service.oauth is None:
        raise ValueError(f"{service.name} has no OAuth")
    return service.oauth


def _revocation(facts: OAuth, url: str | None) -> Revocation | None:
    if facts.revoke is None:
        return None
    return Revocation(
        url=url or facts.revoke.url,
        tokens=facts.revoke.tokens,
        encoding=facts.revoke.body,
        with_client=facts.revoke.client_auth != "none",
    )


async def _account_from_hook(service: Service, http: Http, api_base_url: str, access_token: str) -> Account:
    try:
        hook = load_account_hook(service.folder) if service.folder else None
        account = await hook(http, api_base_url, access_token) if hook else None
    except _HOOK_ERRORS:
        account = None
    return account if isinstance(account, Account) else Account()


def _value_at(value: object, path: str | None) -> object:
    for name in path.split(".") if path else ():
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if path else None


def _display_text(value: object) -> str | None:
    """Text for display: shortened, without invisible and text-direction characters."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = "".join(map(_printable, str(value)[:MAX_READ]))
    return text.strip()[:MAX_TEXT] or None


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else ""


def _link(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= MAX_TEXT and _LINK.fullmatch(value) else None

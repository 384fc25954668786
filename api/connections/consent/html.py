"""The HTML pages for people: the start of a consent, and its result."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import urlsplit

from api.connections.consent.state import AuthorizationState
from api.connections.dependencies import Brand

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 12vh auto; padding: 0 1rem; }
header { font-weight: 600; font-size: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; font-weight: 600; padding: .6rem 1.4rem; border-radius: .4rem; border: 1px solid #8888; }
"""

# All our responses set `no-referrer`, under which browsers send `Origin: null` with a form: over plain http, without
# `Sec-Fetch-Site`, the origin of the form would be unknown. This setting sends no referrer to the provider either.
SAME_ORIGIN_REFERRER = '<meta name="referrer" content="same-origin">'

# By our error codes. Texts of authorization servers are never shown.
FAILURES: Mapping[str, str] = {
    "expired": "This link is invalid, was already used, or is older than ten minutes. If you have just connected the "
    "server, everything is fine. Otherwise, start again in the program that sent you here.",
    "other_browser": "The connection was started in another browser, so nothing was connected. Start again in the "
    "program that sent you here, and stay in one browser.",
    "other_service": "The response came to the address of another service. Nothing was connected. Start again in the "
    "program that sent you here; if it happens again, the redirect URI of the app at the provider is wrong.",
    "wrong_issuer": "The response came from an unexpected authorization server. It was ignored, "
    "and nothing was connected. Do not connect this server before its operator has explained that.",
    "denied": "You denied access. Nothing was connected. To connect after all, start again in the program that "
    "sent you here.",
    "not_granted": "The authorization server did not grant access. Check the settings of the app there, then connect "
    "again.",
    "not_allowed": "The API key that started this connection is no longer allowed to connect servers. Start again "
    "in the program that sent you here, which needs another key.",
    "server_changed": "The server was changed or deleted in the meantime. Start again if you still want to connect it.",
    "refused": "The authorization server rejected the authorization code or does not recognise this client. Connect "
    "again; if that does not help, check the client id, the secret and the redirect URI.",
    "unavailable": "The authorization server gave no valid response. Connect again later.",
    "foreign_form": "The form was not sent from our page. Open the link again and use its button.",
}
UNKNOWN = "Something went wrong. Nothing was connected. Start again in the program that sent you here."


def connect_page(pending: AuthorizationState, workspace: str, title: str, brand: Brand) -> bytes:
    host = urlsplit(pending.provider["authorize_url"]).netloc
    facts = {
        "Workspace": workspace,
        "Server": pending.server_name,
        "Service": title,
        "Sign-in at": host,
        **_other_token_host(pending.provider, host),
        **({"Used at": urlsplit(pending.url).netloc} if pending.url else {}),
        **({"Redirects to": pending.redirect_uri} if pending.client.kind == "given" else {}),
        "Access": ", ".join(pending.scopes) or "as the provider's page shows",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(_visible(value))}</dd>" for name, value in facts.items())
    return _page(
        f"Connect {title} to {_visible(workspace)}",
        f"<p>Agents of this workspace will act with the access that you grant on the next page. Continue only if you "
        f'know who sent you here.</p><dl>{rows}</dl><form method="post"><button>Connect</button> '
        '<button formaction="?cancel=true">Cancel</button></form>',
        brand,
        SAME_ORIGIN_REFERRER,
    )


def _other_token_host(provider: Mapping[str, Any], host: str) -> Mapping[str, str]:
    """A malicious server could name a trusted authorization endpoint and receive the code at its own token endpoint."""
    token_host = urlsplit(provider["token_url"]).netloc
    return {} if provider["issuer"] is None or token_host == host else {"Response goes to": token_host}


def result_page(brand: Brand, *, connected: bool, error: str | None = None) -> bytes:
    if connected:
        return _page("Connected", "<p>The server is connected. You can close this page.</p>", brand)
    title = "This link is no longer valid" if error == "expired" else "Not connected"
    return _page(title, f"<p>{escape(FAILURES.get(error or '', UNKNOWN))}</p>", brand)


def _page(title: str, body: str, brand: Brand, head: str = "") -> bytes:
    name = escape(_visible(brand.name))
    header = f"<header>{name}</header>" if brand != Brand() else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"{head}<title>{escape(title)} · {name}</title><style>{STYLE}{_brand_style(brand)}</style></head>"
        f"<body><main>{header}<h1>{escape(title)}</h1>{body}</main></body></html>"
    ).encode()


def _brand_style(brand: Brand) -> str:
    if not brand.color:
        return ""
    button = f"background: {brand.color}; color: {brand.text_color};"
    return f"header {{ color: {brand.color}; }} button:not([formaction]) {{ {button} }}"


def _visible(text: str) -> str:
    """The text without control characters, which are invisible or change its direction."""
    return "".join(character for character in text if unicodedata.category(character)[0] != "C")

"""The two pages of connecting, for people: the one on which somebody goes on, and the one that says what happened."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import urlsplit

from api.connections.consent.state import AuthorizationState

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 12vh auto; padding: 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; font-weight: 600; padding: .6rem 1.4rem; border-radius: .4rem; border: 1px solid #8888; }
"""

# Every answer says `no-referrer`, under which a browser sends a form with `Origin: null`; over plain http that is all
# that it tells of who sends it. To the provider it says nothing either way.
TELLS_US_ALONE = '<meta name="referrer" content="same-origin">'

# What is said of each code of ours. Nothing of what a provider said is shown anywhere.
FAILURES: Mapping[str, str] = {
    "expired": "This link was used before, is older than ten minutes, or never was one. If you have just connected, "
    "all is well. Otherwise begin again in the program that sent you here.",
    "other_browser": "This answer belongs to another browser, so it was not used. Begin again in the program that sent "
    "you here, and stay in one browser.",
    "other_service": "This answer came back for another service than the one that was asked.",
    "wrong_issuer": "This answer does not come from the authorization server that was asked. Nothing was sent to it.",
    "denied": "You did not consent. Nothing was connected.",
    "not_granted": "The authorization server did not grant access. Check the app's settings there, then connect again.",
    "not_allowed": "The API key that began this may not connect servers any more.",
    "server_changed": "The server was changed or deleted meanwhile. Begin again if you still want to connect it.",
    "refused": "The authorization server took back its consent, or does not know our client. Connect again; if that "
    "does not help, check the client id, the secret and the redirect URI.",
    "unavailable": "The authorization server did not answer as it should. Connect again in a while.",
    "foreign_form": "That form was not sent from our page. Open the link again and use its button.",
}
UNKNOWN = "Something went wrong. Nothing was connected."


def connect_page(pending: AuthorizationState, workspace: str, title: str, authorize_url: str) -> bytes:
    asked = ", ".join(pending.scopes) or "what the provider's own page will say"
    place = urlsplit(authorize_url)
    told = {
        "Workspace": workspace,
        "Server": pending.server_name,
        "Service": title,
        "Goes to": place.netloc,
        **_elsewhere(pending.provider, place.netloc),
        **({"Used at": urlsplit(pending.url).netloc} if pending.url else {}),
        **({"Comes back to": pending.redirect_uri} if pending.client.kind == "given" else {}),
        "Asks for": asked,
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(_visible(value))}</dd>" for name, value in told.items())
    return _page(
        f"Connect {title}",
        f"<p>Agents of this workspace will act with the access that you give next. Go on only if you know who sent you "
        f'here.</p><dl>{rows}</dl><form method="post"><button>Connect</button></form>',
        TELLS_US_ALONE,
    )


def _elsewhere(provider: Mapping[str, Any], host: str) -> Mapping[str, str]:
    """A server that means no good may send people to somebody whom they trust, and take what comes back for itself."""
    token_host = urlsplit(provider["token_url"]).netloc
    return {} if provider["issuer"] is None or token_host == host else {"Answers to": token_host}


def result_page(*, connected: bool, error: str | None = None) -> bytes:
    if connected:
        return _page("Connected", "<p>The server is connected. You can close this page.</p>")
    title = "This link is used up" if error == "expired" else "Not connected"
    return _page(title, f"<p>{escape(FAILURES.get(error or '', UNKNOWN))}</p>")


def _page(title: str, body: str, more: str = "") -> bytes:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"{more}<title>{escape(title)} · Plugboard</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    ).encode()


def _visible(text: str) -> str:
    """What does not show, or turns other text around, is no part of a name."""
    return "".join(character for character in text if unicodedata.category(character)[0] != "C")

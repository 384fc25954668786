"""The filters and the order of the list of servers."""

from __future__ import annotations

from collections.abc import Callable

from api.http.query import choice_parameter, query_choice, query_text, text_parameter
from api.http.request import AnyRequest
from api.servers.server import EXTERNAL, AuthType, Server, ServerState
from integrations import services

BOOLEANS = ("true", "false")
FILTERS = (
    text_parameter("q", "Only servers with this text in name, slug, description or URL, in any case."),
    text_parameter("serviceType", "Only servers of this service, or `external` ones."),
    choice_parameter("authType", "Only servers with this `authType`.", AuthType),
    choice_parameter("enabled", "Only enabled or only disabled servers.", BOOLEANS),
    choice_parameter(
        "state",
        "`disabled`; `incomplete`: not connected, or without the credentials of its `authType`; `ready`: all others.",
        ServerState,
    ),
)


def server_filter(request: AnyRequest) -> Callable[[Server], bool] | None:
    """None if the request has no filter."""
    text, service = query_text(request, "q"), query_choice(request, "serviceType", [EXTERNAL, *services()])
    auth_type = query_choice(request, "authType", list(AuthType))
    enabled = query_choice(request, "enabled", BOOLEANS)
    state = query_choice(request, "state", list(ServerState))
    exact = {"service_type": service, "auth_type": auth_type, "state": state, "enabled": enabled and enabled == "true"}
    wanted = [(name, value) for name, value in exact.items() if value is not None]
    if text is None and not wanted:
        return None
    part = (text or "").casefold()

    def keeps(server: Server) -> bool:
        texts = (server.name, server.slug, server.description, server.url or "")
        return all(getattr(server, name) == value for name, value in wanted) and any(
            part in each.casefold() for each in texts
        )

    return keeps

"""The texts for tools that an agent does not have, with the nearest names of those that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from api.kit.ids import is_from_workspace
from api.toolbox.agent_toolbox import EnabledServer, Toolbox
from api.toolbox.failures import server_not_found, server_of_another_workspace
from api.toolbox.output.sanitize import one_line, safe_line
from api.toolbox.tool_names import GENERIC_PREFIX, PREFIX, generic_name
from integrations import nearest_names

MAX_SUGGESTED = 3
MAX_TEXT = 600
MAX_KNOWN = 1_000
"""A server may list thousands of tools."""

KnownNames = Iterable[tuple[EnabledServer, Iterable[str] | None]]
"""The servers whose tools may be meant, with the tools' own names where they are known without a request."""


def missing_tool_text(toolbox: Toolbox, name: str, known: KnownNames) -> str:
    if name.startswith(GENERIC_PREFIX):
        return _missing_generic_tool(toolbox, name, known)
    share = toolbox.owner(name)
    if share and not share.server.enabled:
        text = f"Error: tool {name} is not available: {_named(share)} is disabled. Nothing was sent."
        return safe_line(text, limit=MAX_TEXT)
    if share and not share.has_tools and share.has_generic:
        text = f"Error: tool {name} is not offered. Call {_named(share)} with `{generic_name(share.server.id)}`."
        return safe_line(text, limit=MAX_TEXT)
    text = f"Error: tool {name} is not in this agent's toolbox. `GET …/agents/{{id}}/tools` lists them."
    return safe_line(text + _suggestion(toolbox, name, known), limit=MAX_TEXT)


def _missing_generic_tool(toolbox: Toolbox, name: str, known: KnownNames) -> str:
    server_id = name.removeprefix(PREFIX)
    if not is_from_workspace(server_id, toolbox.workspace_id):
        return server_of_another_workspace(server_id)
    share = toolbox.by_id.get(server_id)
    if share is None:
        return server_not_found(server_id)
    text = f"Error: MCP server {server_id} {'; '.join(_generic_tool_problems(share))}"
    if not share.server.enabled:
        return f"{text}. Nothing was sent."
    examples = _listed(islice(_names_of_all(known).values(), MAX_SUGGESTED), "and")
    return f"{text}, such as {examples}" if examples else text


def _generic_tool_problems(share: EnabledServer) -> Iterator[str]:
    if not share.server.enabled:
        yield "is disabled"
    if not share.has_generic:
        yield f"has no tool {generic_name(share.server.id)} for this agent; use the server's own tools"


def _suggestion(toolbox: Toolbox, name: str, known: KnownNames) -> str:
    names = _without_slug(toolbox, name) or _similar(toolbox, name, known)
    return f" Did you mean {_listed(names, 'or')}?" if names else ""


def _without_slug(toolbox: Toolbox, name: str) -> list[str]:
    """The names of a service's tools end with the server's slug, which a model that knows the service may omit."""
    shares = [share for share in toolbox.servers if share.naming.lacks_slug(name, share.server.service_type)]
    if any(name.endswith(f"_{share.server.slug}") for share in shares):
        return []
    aliases = [(share, share.naming.tool_name(share.server.slug, name)) for share in shares]
    return [alias for share, alias in aliases if share.offers(alias)]


def _similar(toolbox: Toolbox, name: str, known: KnownNames) -> list[str]:
    """Where the server is plain, the tools' own names are compared: they have no prefix in common."""
    names, share = _names_of_all(known), toolbox.owner(name)
    if share is not None:
        name = share.naming.own_name(share.server.slug, name)
    else:
        whole = {alias: alias for alias in names.values()}
        names = whole if name.startswith(PREFIX) else names | whole
    if name in names:
        return [names[name]]
    return list(dict.fromkeys(names[found] for found in nearest_names(name, names, MAX_SUGGESTED)))


def _names_of_all(known: KnownNames) -> dict[str, str]:
    """The names for agents by the tools' own names; of equal own names, the first."""
    names: dict[str, str] = {}
    all_names = chain.from_iterable(_names(share, names) for share, names in known)
    for own_name, alias in islice(all_names, MAX_KNOWN):
        names.setdefault(own_name, alias)
    return names


def _names(share: EnabledServer, known: Iterable[str] | None) -> Iterable[tuple[str, str]]:
    if not (share.server.enabled and share.has_tools):
        return ()
    names = sorted(share.names or ()) if known is None else filter(share.allows, known)
    return ((name, share.naming.tool_name(share.server.slug, name)) for name in names)


def _named(share: EnabledServer) -> str:
    return f"the server '{one_line(share.server.name, 100)}'"


def _listed(names: Iterable[str], word: str) -> str:
    return f" {word} ".join(f"`{name}`" for name in names)

"""The tools of a service as a catalog, which all its servers share and which needs no request."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any

from api.toolbox.json_schema.normalise import normalise
from api.toolbox.tool_names import ToolNameRewriter, service_tool_name
from api.toolbox.toolsets.tool_catalog import CatalogTool, ParsedArguments, Tool, ToolCatalog
from integrations import ServiceTool, Toolkit


class ServiceCatalogTool(CatalogTool):
    def __init__(self, tool: ServiceTool, names: ToolNameRewriter) -> None:
        super().__init__(tool.mcp_definition)
        self._tool = tool
        self._names = names

    def parse(self, arguments: Any) -> ParsedArguments:
        """Parse arguments with the leniency that the tool declares."""
        parsed = self._tool.parse(arguments)
        if isinstance(parsed, list):
            return ParsedArguments(None, parsed, self.name)
        return ParsedArguments(parsed, (), self.name)

    def with_agent_names(self, text: str, slug: str, *, quoted: bool = False) -> str:
        return self._names.rewrite(text, slug, quoted=quoted)

    def present(self, name: str, server_id: str, slug: str) -> Tool:
        tool = super().present(name, server_id, slug)
        return replace(
            tool,
            description=self.with_agent_names(tool.description or "", slug),
            input_schema=self._names.rewrite_in(tool.input_schema, slug),
            output_schema=self._names.rewrite_in(tool.output_schema, slug),
        )

    @cached_property
    def output_schema(self) -> dict[str, object] | None:
        return normalise(self.listed["outputSchema"])


def service_tools(toolkit: Toolkit) -> ToolCatalog:
    names = ToolNameRewriter(toolkit.tools)
    by_name: dict[str, CatalogTool] = {name: ServiceCatalogTool(tool, names) for name, tool in toolkit.tools.items()}
    return ToolCatalog(
        tuple(by_name.values()), 0, -inf, inf, by_name, naming=lambda slug, name: service_tool_name(name, slug)
    )

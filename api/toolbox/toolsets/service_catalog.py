"""The tools of a service as a toolbox knows tools: the same for every server of it, known without asking anybody."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import inf

from api.toolbox.json_schema.normalise import normalise
from api.toolbox.tool_names import ToolNameRewriter, service_tool_name
from api.toolbox.toolsets.catalog import CatalogTool, Tool, ToolCatalog
from integrations import ServiceTool, Toolkit


class ServiceArgumentCheck:
    """Holds arguments to what the tool takes, with the leniency that the tool declares."""

    def __init__(self, tool: ServiceTool) -> None:
        self._tool = tool

    def check(self, args: object) -> list[str]:
        parsed = self._tool.parse(args)
        return parsed if isinstance(parsed, list) else []


class ServiceCatalogTool(CatalogTool):
    def __init__(self, tool: ServiceTool, mentions: ToolNameRewriter) -> None:
        super().__init__(tool.mcp_definition)
        self._tool = tool
        self._mentions = mentions

    def said(self, text: str, slug: str, *, quoted: bool = False) -> str:
        return self._mentions.named(text, slug, quoted=quoted)

    def shown(self, name: str, server_id: str, slug: str) -> Tool:
        tool = super().shown(name, server_id, slug)
        return replace(
            tool,
            description=self.said(tool.description or "", slug),
            input_schema=self._mentions.named_in(tool.input_schema, slug),
            output_schema=self._mentions.named_in(tool.output_schema, slug),
        )

    @cached_property
    def validator(self) -> ServiceArgumentCheck:  # type: ignore[override]  # it is only ever asked to check
        return ServiceArgumentCheck(self._tool)

    @cached_property
    def output_schema(self) -> dict[str, object] | None:
        return normalise(self.listed["outputSchema"])


def service_tools(toolkit: Toolkit) -> ToolCatalog:
    mentions = ToolNameRewriter(toolkit.tools)
    by_name: dict[str, CatalogTool] = {name: ServiceCatalogTool(tool, mentions) for name, tool in toolkit.tools.items()}
    return ToolCatalog(
        tuple(by_name.values()), 0, -inf, inf, by_name, naming=lambda slug, name: service_tool_name(name, slug)
    )

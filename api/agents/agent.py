"""A stored agent, as the toolbox sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from api.kit.storage.store import Item


@dataclass(frozen=True, slots=True)
class Agent:
    id: str
    name: str
    description: str
    instructions: str
    enabled_mcp_server_ids: Sequence[str]
    enabled_mcp_server_tool_names: Mapping[str, Sequence[str]]
    created_at: str
    updated_at: str
    version: int = 1

    @classmethod
    def of(cls, item: Item) -> Agent:
        return cls(**item.data, version=item.version)

    def data(self) -> dict[str, Any]:
        data = asdict(self)
        del data["version"]
        return data

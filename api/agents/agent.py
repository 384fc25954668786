"""A stored agent, as the toolbox sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from api.kit.storage.records import NOT_STORED, Record
from api.kit.storage.store import Item


@dataclass(frozen=True, slots=True)
class Agent(Record):
    id: str
    name: str
    description: str
    instructions: str
    enabled_mcp_server_ids: Sequence[str]
    enabled_mcp_server_tool_names: Mapping[str, Sequence[str]]
    created_at: str
    updated_at: str
    version: int = field(default=1, metadata=NOT_STORED)
    size: int = field(default=0, compare=False, metadata=NOT_STORED)
    """In bytes, as stored."""

    @classmethod
    def of(cls, item: Item) -> Agent:
        return cls.decode(item.data, version=item.version, size=item.size)

"""By which names does a text call a service's tools? By those that they have in this agent's toolbox."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from api.toolbox.tool_names import service_tool_name


class ToolNameRewriter:
    def __init__(self, names: Iterable[str]) -> None:
        one_of = "|".join(map(re.escape, names))
        self._bare = re.compile(rf"\b(?:{one_of})\b")
        self._quoted = re.compile(rf"(?<=`)(?:{one_of})(?=`)")

    def named(self, text: str, slug: str, *, quoted: bool = False) -> str:
        """`quoted`: only between backticks, in a text that shows a vendor's data too, which are to stay as they are."""
        mention = self._quoted if quoted else self._bare
        return mention.sub(lambda found: service_tool_name(found.group(), slug), text)

    def named_in(self, schema: Any, slug: str) -> Any:
        """In each text of it."""
        match schema:
            case str():
                return self.named(schema, slug)
            case dict():
                return {name: self.named_in(each, slug) for name, each in schema.items()}
            case list():
                return [self.named_in(each, slug) for each in schema]
            case _:
                return schema

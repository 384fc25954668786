"""Where is a vendor's own contract, and what does it object to in what was sent?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from demo.oauth_provider.tenant import RecordedRequest

Json = dict[str, Any]
Validator = Callable[[str, RecordedRequest], Iterator[str]]
"""Given the vendor's own path, and the request."""
DEFAULT_FOLDER = Path(__file__).parents[3] / "shared" / "contracts"


class Contract:
    def __init__(self, title: str) -> None:
        self.service = title.lower()
        self.missing = (
            f"{title}'s contract is not there: set PLUGBOARD_CONTRACTS to the folder that has {self.service}/ in it"
        )
        self._judge: Validator

    def validator(self, judge: Validator) -> Validator:
        """For the function that says what the vendor would."""
        self._judge = judge
        return judge

    def folder(self) -> Path | None:
        result = Path(os.environ.get("PLUGBOARD_CONTRACTS") or DEFAULT_FOLDER) / self.service
        return result if result.is_dir() else None

    @property
    def needed(self) -> pytest.MarkDecorator:
        return pytest.mark.skipif(self.folder() is None, reason=self.missing)

    def text(self, name: str) -> str:
        where = self.folder()
        assert where is not None, self.missing
        return (where / name).read_text(encoding="utf-8")

    @cache  # noqa: B019  there are five of them, for as long as the tests run
    def read(self, name: str) -> Json:
        body: Json = json.loads(self.text(name))
        return body

    def objections(self, request: RecordedRequest) -> Iterator[str]:
        """Nothing, where the contract is not there."""
        if self.folder() is not None:
            path = request.path.removeprefix(f"/{self.service}")
            yield from (f"{request.method} {path}: {why}" for why in self._judge(path, request))

    def assert_accepts(self, request: RecordedRequest) -> None:
        assert list(self.objections(request)) == []

    def assert_refuses(self, request: RecordedRequest, complaint: str) -> None:
        result = list(self.objections(request))
        assert any(complaint in item for item in result), result

    def get(self, path: str, headers: Json | None = None, /, **query: str) -> RecordedRequest:
        """As if it had been sent."""
        return RecordedRequest(self.service, "api", "GET", f"/{self.service}{path}", query, headers or {}, {}, "")

    def sent(self, method: str, path: str, body: object, /, **headers: str) -> RecordedRequest:
        """`body` in JSON, or as it is."""
        content = body if isinstance(body, str) else json.dumps(body)
        fields = {"content-type": "application/json", **headers}
        return RecordedRequest(self.service, "api", method, f"/{self.service}{path}", {}, fields, {}, content)

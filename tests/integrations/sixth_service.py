"""The manifest of one service more, with no more in it than it needs."""

from __future__ import annotations

from pathlib import Path

SMALL = """
name = "sixth"
title = "Sixth"
description = "One more."
console_url = "https://sixth.example.com/apps"
docs_url = "https://sixth.example.com/docs"
auth_types = ["oauth"]
api_base_url = "https://api.sixth.example.com"

[oauth]
authorize_url = "https://sixth.example.com/authorize"
token_url = "https://sixth.example.com/token"
client_auth = "basic"
token_body = "form"
pkce = true

[[tools]]
name = "sixth_read"
description = "Read one."
writes = false
"""


def write_service(folder: Path, text: str, name: str = "sixth") -> Path:
    path = folder / name / "manifest.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path

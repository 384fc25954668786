"""The API reference at `/docs`: a page on which Scalar renders the OpenAPI document. It needs no other host."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from api.http.openapi.published_file import FOR_EVER, PublishedFile, etag_of

SCALAR_VERSION = "1.72.1"
SCALAR_SHA256 = "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c"
"""Of the script as npm has it."""
SCALAR = f"scalar-{SCALAR_SHA256[:16]}.js"
FILE_NAME_PATTERN = "^[a-z]+-[0-9a-f]{16}\\.js$"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Scripts are files of ours, and can reach nothing else. Scalar writes its styles into the page."""
FOLDER = Path(__file__).with_name("scalar")
JAVASCRIPT, HTML = "text/javascript; charset=utf-8", "text/html; charset=utf-8"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Plugboard API</title>
<link rel="icon" href="data:,">
<script defer src="docs/{start}"></script>
<script defer src="docs/{scalar}"></script>
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. Without it, read <a href="openapi.yaml">openapi.yaml</a>.</noscript>
</body>
</html>
"""


def scripts() -> Mapping[str, PublishedFile]:
    """By name. A name has the hash of its file, so that browsers keep the file for ever."""
    start = (FOLDER / "start.js").read_bytes()
    scalar = PublishedFile(JAVASCRIPT, (FOLDER / "scalar.js.gz").read_bytes(), etag_of(SCALAR_SHA256), FOR_EVER)
    return {
        f"start-{hashlib.sha256(start).hexdigest()[:16]}.js": PublishedFile.of(start, JAVASCRIPT, FOR_EVER),
        SCALAR: scalar,
    }


def reference_page(names: Mapping[str, PublishedFile]) -> PublishedFile:
    by_role = {name.partition("-")[0]: name for name in names}
    return PublishedFile.of(PAGE.format(**by_role).encode(), HTML, policy=POLICY)

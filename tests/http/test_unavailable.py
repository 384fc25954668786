import logging
from pathlib import Path

import pytest
from litestar import get

from api.access.guards import Public
from api.http.middleware import RequestMiddleware
from api.kit.storage.store import StoreUnavailable
from api.main.app import build_router_app
from api.main.settings import Settings
from tests.harness import caller, listening


@get("/busy", guards=[Public("a test's")])
async def busy() -> None:
    raise StoreUnavailable("DynamoDB answered ThrottlingException")


def test_the_log_has_the_reason_of_a_503_and_the_response_only_a_retry_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = RequestMiddleware(build_router_app(Settings(data_dir=tmp_path), routes=[busy]))
    with caplog.at_level(logging.WARNING), listening(app) as url, caller(url) as anyone:
        response = anyone.get("/busy")

    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert "Throttling" not in response.text
    (line,) = [record for record in caplog.records if record.message == "unavailable"]
    assert line.__dict__["detail"] == "DynamoDB answered ThrottlingException"
    assert line.__dict__["request_id"] == response.headers["X-Request-Id"]

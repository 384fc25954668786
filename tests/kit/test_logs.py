import asyncio
import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from api.kit import logs
from api.kit.clock import rfc3339
from api.kit.logs import FIELDS, JsonLines, RequestLine, RequestLog
from tests.fakes.still_clock import StillClock


@pytest.fixture(autouse=True)
def _root_logger_is_put_back() -> Iterator[None]:
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    asked_for = logging.logThreads, logging.logProcesses, logging.logMultiprocessing
    noisy = {name: logging.getLogger(name).level for name in ("botocore", "boto3", "urllib3", "asyncio")}
    try:
        yield
    finally:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logging.logThreads, logging.logProcesses, logging.logMultiprocessing = asked_for
        for name, was in noisy.items():
            logging.getLogger(name).setLevel(was)


def opens_something(password: str) -> None:
    try:
        raise KeyError(password)  # noqa: TRY301  # the cause is what this is about
    except KeyError as cause:
        raise ValueError(f"cannot open it with {password}") from cause


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_a_json_object() -> None:
    stream = io.StringIO()
    logs.configure(stream)

    logging.getLogger("plugboard.test").warning("over\nthere: ключ", extra={"status": 503})

    (line,) = written(stream)
    assert line.pop("at").endswith("Z")
    assert line == {"level": "warning", "logger": "plugboard.test", "message": "over\nthere: ключ", "status": 503}


@pytest.mark.requirement("ENC-18")
def test_only_fields_on_the_list_are_written() -> None:
    stream = io.StringIO()
    logs.configure(stream)
    extra = {"password": "canary", "authorization": "canary", "body": {"a": "canary"}, "args_": "canary"}

    logging.getLogger("plugboard.test").info("request", extra=extra | dict.fromkeys(FIELDS, "x"))

    (line,) = written(stream)
    assert line.keys() == {"at", "level", "logger", "message", *FIELDS}
    assert "canary" not in stream.getvalue()


@pytest.mark.requirement("ENC-13")
def test_only_type_and_place_of_an_exception_are_written() -> None:
    stream = io.StringIO()
    logs.configure(stream)

    try:
        opens_something("canary")
    except ValueError as error:
        logging.getLogger("plugboard.test").exception("failed", exc_info=error)

    (line,) = written(stream)
    assert line["error"] == "ValueError"
    assert any(item.startswith("opens_something ") for item in line["where"])
    assert "canary" not in stream.getvalue()


@pytest.mark.requirement("ENC-13")
def test_causes_of_an_exception_are_not_written() -> None:
    try:
        opens_something("canary")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())

    assert "canary" not in JsonLines().format(record)


def test_a_field_that_is_not_known_is_left_out() -> None:
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "request", None, None)
    record.__dict__.update(workspace=None, status=0)

    line = json.loads(JsonLines().format(record))

    assert "workspace" not in line
    assert line["status"] == 0


def test_libraries_log_only_warnings() -> None:
    stream = io.StringIO()
    logs.configure(stream)

    logging.getLogger("botocore").info("canary")
    logging.getLogger("botocore").warning("slow")

    assert [line["message"] for line in written(stream)] == ["slow"]


def test_configuring_twice_writes_once() -> None:
    stream = io.StringIO()
    logs.configure(stream)
    logs.configure(stream)

    logging.getLogger("plugboard.test").info("once")

    assert len(written(stream)) == 1


def test_lines_go_to_standard_error_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()

    logging.getLogger("plugboard.test").info("here")

    captured = capsys.readouterr()
    assert (captured.out, json.loads(captured.err)["message"]) == ("", "here")


async def test_the_requests_of_one_turn_are_written_together() -> None:
    stream = Counting()
    log = RequestLog(stream, StillClock())

    log(RequestLine(status=200, route="/a"))
    log(RequestLine(status=404, route="/b"))
    assert stream.getvalue() == ""
    await asyncio.sleep(0)
    log(RequestLine(status=500))
    await asyncio.sleep(0)

    assert [line["status"] for line in written(stream)] == [200, 404, 500]
    assert stream.writes == 2


def test_a_request_line_has_no_field_beyond_the_allowlist() -> None:
    with pytest.raises(TypeError):
        RequestLine(status=404, password="canary")
    of_lines_about_upstreams = {"server", "agent", "cause", "detail"}
    in_requests = set(RequestLine.__struct_fields__) - {"at", "level", "logger", "message"}
    assert in_requests == set(FIELDS) - of_lines_about_upstreams


async def test_a_request_is_logged_at_the_time_of_the_clock() -> None:
    stream, clock = io.StringIO(), StillClock()

    RequestLog(stream, clock)(RequestLine(status=200))
    await asyncio.sleep(0)

    assert written(stream)[0]["at"] == rfc3339(clock.now())


class Counting(io.StringIO):
    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)

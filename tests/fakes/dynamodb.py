"""Where does a test find a DynamoDB: moto in a thread of this process, or dynoxide as a process of its own.

Both yield the URL of an endpoint on 127.0.0.1. moto's also answers for KMS and CloudFormation. All of moto in one
process shares one state, and `mock_aws` empties it: a table lasts for a test, not longer.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.botocore_stubber import BotocoreStubber
from moto.dynamodb.models import dynamodb_backends
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from api.kit.storage.dynamodb.store import dynamo_client
from api.kit.storage.dynamodb.table import STACK, create_table
from tests.fakes import quick_moto  # noqa: F401  installs its shortcuts
from tests.fakes.connect_recorder import STAND_INS

ACCESS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
}
PATIENT_TIMEOUT = 30.0  # a stand-in can be slow on a busy machine
ROOT = Path(__file__).parents[2]
DYNOXIDE = ROOT / "tests/tools/node_modules/@dynoxide/linux-x64/dynoxide"
NO_DYNOXIDE = "dynoxide is not installed: run `npm ci` in tests/tools"
PATIENCE_SECONDS = 10


class _Silent(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


@contextmanager
def aws_access() -> Iterator[None]:
    """Credentials that every stand-in accepts, isolated from the machine's AWS configuration."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in ACCESS.items():
            environment.setenv(name, value)
        yield


@Request.application
def _moto(request: Request) -> Response:
    """What moto does inside a boto3 client, done for a request that came over the wire."""
    region, service = request.headers["Authorization"].split("/")[2:4]
    url = f"https://{service}.{region}.amazonaws.com{request.full_path.rstrip('?')}"
    requested = AWSPreparedRequest(request.method, url, request.headers, request.get_data(), stream_output=False)
    answer = BotocoreStubber().process_request(requested)
    assert answer is not None, f"moto knows nothing at {url}"
    status, headers, body = answer
    return Response(body, status, {name: str(value) for name, value in headers.items()})


@contextmanager
def moto_endpoint() -> Iterator[str]:
    """One request at a time: moto rolls a failed transaction back by restoring a copy of the whole table, and would
    take back what another thread has written meanwhile."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, _moto, threaded=False, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def moto_process() -> Iterator[str]:
    """moto with a state of its own, which no `mock_aws` of a test beside it empties: for what lasts longer than one."""
    command = [sys.executable, "-c", "from tests.fakes.dynamodb import serve_moto; serve_moto()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            endpoint = process.stdout.readline().strip()
            STAND_INS.add(int(endpoint.rpartition(":")[2]))
            yield endpoint
        finally:
            process.stdin.close()  # which ends it, as the end of this process would


def serve_moto() -> None:
    with aws_access(), moto_endpoint() as endpoint:
        sys.stdout.write(f"{endpoint}\n")
        sys.stdout.flush()
        sys.stdin.read()


def dynoxide_is_installed() -> bool:
    return DYNOXIDE.is_file()


@contextmanager
def dynoxide_endpoint(data: Path) -> Iterator[str]:
    """A server process on a free port that keeps its tables in the file `data`."""
    port = _free_port()
    command = [str(DYNOXIDE), "serve", "--host", "127.0.0.1", "--port", str(port), "--db-path", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        stuck = threading.Timer(PATIENCE_SECONDS, process.kill)
        stuck.start()
        try:
            text = _wait_until_it_listens(process)
            stuck.cancel()
            assert "listening" in text.lower(), f"dynoxide did not start: {text}"
            STAND_INS.add(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            stuck.cancel()
            process.terminate()
            process.communicate()


def _wait_until_it_listens(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if "listening" in line.lower():
            break
    return text


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def new_table(endpoint: str) -> str:
    """A table of a test's own, as `plugboard table create` makes it."""
    client = dynamo_client(endpoint, read_seconds=PATIENT_TIMEOUT)
    name = f"test-{uuid.uuid4().hex}"
    assert create_table(client, name)
    client.close()
    return name


def empty_table_by_stack(endpoint: str) -> str:
    """The table of `table_by_stack` for tests that take turns, made again where `mock_aws` has removed it."""
    name = _shared_table(endpoint)
    tables = dynamodb_backends[DEFAULT_ACCOUNT_ID][ACCESS["AWS_REGION"]].tables
    if name not in tables:
        _shared_table.cache_clear()
        return _shared_table(endpoint)
    tables[name].items.clear()
    return name


@cache
def _shared_table(endpoint: str) -> str:
    return table_by_stack(endpoint)


def table_by_stack(endpoint: str) -> str:
    """A table of a test's own, as an operator makes it: by `stack.yaml`."""
    name = f"test-{uuid.uuid4().hex}"
    parameters = {"TableName": name, "KeyAlias": f"alias/{name}"}
    cloudformation = _cloudformation(endpoint)
    cloudformation.create_stack(
        StackName=name,
        TemplateBody=STACK.read_text(encoding="utf-8"),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        Capabilities=["CAPABILITY_IAM"],
    )
    outputs = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["Outputs"]
    return next(output["OutputValue"] for output in outputs if output["OutputKey"] == "TableName")


@cache
def _cloudformation(endpoint: str) -> Any:
    return boto3.session.Session().client("cloudformation", endpoint_url=endpoint)

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import boto3
import pytest

from api.main.settings import Settings
from tests.fakes.dynamodb import aws_access, moto_process
from tests.fakes.still_clock import StillClock
from tests.harness import WEATHER, Plugboard, served

TTL_SECONDS = 300.0


@pytest.fixture
def outage() -> Iterator[ExitStack]:
    """Closing it takes KMS away."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def plugboard_on_kms(outage: ExitStack, clock: StillClock, tmp_path: Path) -> Iterator[Plugboard]:
    with aws_access(), pytest.MonkeyPatch.context() as environment:
        endpoint = outage.enter_context(moto_process())
        environment.setenv("AWS_ENDPOINT_URL_KMS", endpoint)
        key_id = boto3.client("kms").create_key()["KeyMetadata"]["KeyId"]
        with served(Settings(data_dir=tmp_path, kms_key_id=key_id), clock) as plugboard:
            yield plugboard


@pytest.mark.requirement("ENC-12")
def test_during_a_kms_outage_cached_keys_serve_until_they_expire(
    plugboard_on_kms: Plugboard, outage: ExitStack, clock: StillClock, tmp_path: Path
) -> None:
    workspace = plugboard_on_kms.make_workspace()
    workspace.make_server()
    outage.close()

    known = workspace.admin.post(workspace.servers, json=WEATHER)
    clock.advance(TTL_SECONDS + 1)
    response = workspace.admin.post(workspace.servers, json=WEATHER)
    shown = workspace.admin.get(workspace.servers)

    assert known.status_code == 201
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert int(response.headers["Retry-After"]) > 0
    assert [server["name"] for server in shown.json()] == ["Weather API", "Weather API"]
    assert not (tmp_path / "root.key").exists()

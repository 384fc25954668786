"""`create_table` creates the table that stack.yaml defines."""

from collections.abc import Iterator
from typing import Any

import pytest

from api.kit.storage.dynamodb.store import dynamo_client
from api.kit.storage.dynamodb.table import create_table, table_definition
from api.kit.storage.store import StoreUnavailable
from tests.fakes.dynamodb import PATIENT_TIMEOUT, aws_access, moto_endpoint
from tests.fakes.dynamodb_faults import Faults, answers, passes, refused


@pytest.fixture
def client() -> Iterator[Any]:
    with aws_access(), moto_endpoint() as endpoint:
        client = dynamo_client(endpoint, read_seconds=PATIENT_TIMEOUT)
        yield client
        client.close()


def test_the_table_is_created_as_the_stack_defines_it() -> None:
    assert table_definition("a-table") == {
        "TableName": "a-table",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "SSESpecification": {"Enabled": True},
        "DeletionProtectionEnabled": True,
    }


@pytest.mark.requirement("DB-07")
def test_the_table_has_no_index() -> None:
    assert not [name for name in table_definition("a-table") if "Index" in name]


def test_a_table_is_created_with_expiry_recovery_and_protection(client: Any) -> None:
    assert create_table(client, "made-here")

    table = client.describe_table(TableName="made-here")["Table"]
    assert table["DeletionProtectionEnabled"]
    assert table["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert client.describe_time_to_live(TableName="made-here")["TimeToLiveDescription"] == {
        "TimeToLiveStatus": "ENABLED",
        "AttributeName": "expires",
    }
    backups = client.describe_continuous_backups(TableName="made-here")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def test_an_existing_table_is_left_unchanged(client: Any) -> None:
    assert create_table(client, "made-twice")
    faults = Faults(client)

    assert not create_table(client, "made-twice")

    assert [name for name, _ in faults.sent] == ["CreateTable"]


def test_a_new_table_is_waited_for(client: Any) -> None:
    faults, pauses = Faults(client), []
    faults.put("DescribeTable", [answers({"Table": {"TableStatus": "CREATING"}})] * 2)
    faults.put("UpdateContinuousBackups", [refused("ContinuousBackupsUnavailableException"), passes])

    assert create_table(client, "made-slowly", pause=pauses.append)

    assert pauses == [1.0, 1.0, 1.0]
    assert faults.count("UpdateContinuousBackups") == 2


def test_a_table_that_never_becomes_ready_is_an_error(client: Any) -> None:
    Faults(client).put("DescribeTable", [answers({"Table": {"TableStatus": "CREATING"}})] * 100)

    with pytest.raises(StoreUnavailable, match="did not become ready"):
        create_table(client, "made-never", pause=lambda _: None)


def test_a_local_substitute_without_backups_is_accepted(client: Any) -> None:
    Faults(client).put("UpdateContinuousBackups", [refused("UnknownOperationException")])

    assert create_table(client, "made-elsewhere")


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateContinuousBackups"])
def test_a_refusal_is_reported_to_the_operator(client: Any, operation: str) -> None:
    Faults(client).put(operation, [refused("AccessDeniedException")])

    with pytest.raises(StoreUnavailable, match="AccessDenied"):
        create_table(client, "made-by-nobody")

"""stack.yaml makes what Plugboard needs and gives it no right that it does not use."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from api.kit.storage.dynamodb.table import STACK, stack
from tests.fakes.dynamodb import aws_access, moto_endpoint, table_by_stack

DYNAMO = Path(__file__).parents[2] / "api" / "kit" / "storage" / "dynamodb" / "store.py"
KMS = Path(__file__).parents[2] / "api" / "kit" / "crypto" / "kms_root_keys.py"


def properties(name: str) -> Any:
    return stack()["Resources"][name]["Properties"]


def statement(sid: str) -> Any:
    statements = properties("ServicePolicy")["PolicyDocument"]["Statement"]
    return next(statement for statement in statements if statement["Sid"] == sid)


@pytest.fixture
def endpoint() -> Iterator[str]:
    with aws_access(), moto_endpoint() as endpoint:
        yield endpoint


def test_the_template_passes_the_linter() -> None:
    linted = subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), "--include-checks", "I", "--", str(STACK)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (linted.returncode, linted.stdout) == (0, "")


def test_cloudformation_tags_are_parsed() -> None:
    assert properties("Table")["TableName"] == {"Ref": "TableName"}
    assert statement("ReadAndWriteItems")["Resource"] == {"Fn::GetAtt": ["Table", "Arn"]}
    assert properties("ServicePolicy")["Roles"] == [{"Ref": "ServiceRole"}]
    assert properties("RootKey")["KeyPolicy"]["Statement"][0]["Principal"]["AWS"] == {
        "Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"
    }
    assert stack()["Conditions"]["OnEks"] == {"Fn::Equals": [{"Ref": "ServicePrincipal"}, "pods.eks.amazonaws.com"]}


def test_the_table_has_expiry_recovery_and_deletion_protection() -> None:
    table = properties("Table")

    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["DeletionProtectionEnabled"] is True
    assert table["SSESpecification"] == {"SSEEnabled": True}


@pytest.mark.parametrize("name", ["Table", "RootKey"])
def test_resources_with_credentials_are_retained(name: str) -> None:
    resource = stack()["Resources"][name]

    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")


@pytest.mark.requirement("DB-07")
def test_the_table_has_no_index_and_no_stream() -> None:
    assert not [name for name in properties("Table") if "Index" in name or "Stream" in name]


@pytest.mark.requirement("DB-04")
def test_the_policy_of_the_table_matches_the_operations_of_the_store() -> None:
    allowed = set(statement("ReadAndWriteItems")["Action"])
    tree = ast.parse(DYNAMO.read_text(encoding="utf-8"))
    client = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "DynamoClient")
    operations = {node.name for node in client.body if isinstance(node, ast.FunctionDef)} - {"close"}

    assert operations == {"get_item", "batch_get_item", "query", "transact_write_items"}
    in_a_transaction = {"PutItem", "DeleteItem", "ConditionCheckItem"}
    assert allowed == {f"dynamodb:{name}" for name in {"GetItem", "BatchGetItem", "Query"} | in_a_transaction}


def test_the_policy_of_the_root_key_matches_the_operations_of_the_vault() -> None:
    tree = ast.parse(KMS.read_text(encoding="utf-8"))
    client = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == "KmsClient")
    operations = {node.name for node in client.body if isinstance(node, ast.FunctionDef)}
    key_policy = properties("RootKey")["KeyPolicy"]["Statement"][1]

    assert operations == {"generate_data_key", "encrypt", "decrypt"}
    for given in (statement("WrapDataKeys"), key_policy):
        assert set(given["Action"]) == {"kms:GenerateDataKey", "kms:Encrypt", "kms:Decrypt"}


@pytest.mark.requirement("AUD-02")
def test_audit_records_cannot_be_deleted_or_changed() -> None:
    denied = statement("AuditIsAppendOnly")

    assert denied["Effect"] == "Deny"
    assert {"dynamodb:DeleteItem", "dynamodb:UpdateItem"} == set(denied["Action"])
    assert denied["Condition"] == {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": ["AUDIT#*"]}}


def test_the_policy_has_no_wildcards() -> None:
    for statement in properties("ServicePolicy")["PolicyDocument"]["Statement"]:
        assert not [action for action in statement["Action"] if "*" in action]
        assert statement["Resource"] != "*"
        if any(action.startswith("kms:") for action in statement["Action"]):
            assert statement["Condition"] == {"StringEquals": {"kms:EncryptionContext:app": "plugboard"}}


def test_the_root_key_rotates_and_decrypts_only_for_the_service() -> None:
    key = properties("RootKey")
    account, service = key["KeyPolicy"]["Statement"]

    assert key["EnableKeyRotation"] is True
    assert key["PendingWindowInDays"] == 30
    uses = ("Decrypt", "Encrypt", "GenerateDataKey", "ReEncrypt", "CreateGrant", "kms:*")
    assert not [action for action in account["Action"] if action.removeprefix("kms:").startswith(uses)]
    assert "kms:*" not in account["Action"]
    assert "kms:PutKeyPolicy" in account["Action"]
    assert service["Principal"] == {"AWS": {"Fn::GetAtt": ["ServiceRole", "Arn"]}}
    assert service["Condition"] == {"StringEquals": {"kms:EncryptionContext:app": "plugboard"}}


def test_the_stack_can_be_created_and_outputs_the_settings(endpoint: str) -> None:
    name = table_by_stack(endpoint)

    cloudformation = boto3.session.Session().client("cloudformation", endpoint_url=endpoint)
    created = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in created["Outputs"]}
    cloudformation.close()

    assert created["StackStatus"] == "CREATE_COMPLETE"
    assert outputs["TableName"] == name
    assert outputs["TableArn"].endswith(f":table/{name}")
    assert ":key/" in outputs["RootKeyArn"]
    assert ":role/" in outputs["ServiceRoleArn"]
    assert ":policy/" in outputs["ServicePolicyArn"]

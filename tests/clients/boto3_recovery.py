"""Backups and point-in-time recovery as boto3 sees them: KEYLOOM_ENDPOINT names the server."""

import os
import time
from datetime import datetime, timedelta, timezone

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

TABLE = "boto3-ledger"
client = boto3.client(
    "dynamodb",
    endpoint_url=os.environ["KEYLOOM_ENDPOINT"],
    region_name="us-east-1",
    config=Config(retries={"max_attempts": 2}, connect_timeout=5, read_timeout=30),
)


def refused(code, call, **parameters):
    """Insists that a call fails with this code."""
    try:
        call(**parameters)
    except ClientError as error:
        actual = error.response["Error"]["Code"]
        assert actual == code, f"{actual} instead of {code}: {error}"
        return
    raise AssertionError(f"{call} succeeded and should fail with {code}")


def key(name, role):
    return {"AttributeName": name, "KeyType": role}


def put(account, amount):
    item = {"account": {"S": account}, "branch": {"S": "Rome"}, "amount": {"N": str(amount)}}
    client.put_item(TableName=TABLE, Item=item)


def balances(table, index=None):
    """The amounts by account, of the table or of one of its indexes."""
    place = {"IndexName": index} if index else {}
    pages = client.get_paginator("scan").paginate(TableName=table, **place)
    items = [item for page in pages for item in page["Items"]]
    return {item["account"]["S"]: int(item["amount"]["N"]) for item in items}


def wait_for(table):
    client.get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 1})


def create():
    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("account", "branch")
        ],
        KeySchema=[key("account", "HASH")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-branch",
                "KeySchema": [key("branch", "HASH")],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    wait_for(TABLE)


def switch_on():
    latest = dict(SourceTableName=TABLE, TargetTableName="boto3-copy", UseLatestRestorableTime=True)
    refused(
        "PointInTimeRecoveryUnavailableException", client.restore_table_to_point_in_time, **latest
    )
    window = client.update_continuous_backups(
        TableName=TABLE,
        PointInTimeRecoverySpecification={
            "PointInTimeRecoveryEnabled": True,
            "RecoveryPeriodInDays": 3,
        },
    )["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert window["PointInTimeRecoveryStatus"] == "ENABLED", window
    assert window["RecoveryPeriodInDays"] == 3, window


def described():
    reply = client.describe_continuous_backups(TableName=TABLE)
    return reply["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]


def restore():
    put("ann", 1)
    put("bob", 2)
    # Between two seconds, with a pause on both sides.
    time.sleep(1.1)
    point = datetime.now(timezone.utc).replace(microsecond=0)
    time.sleep(1.1)
    put("ann", 100)
    client.delete_item(TableName=TABLE, Key={"account": {"S": "bob"}})
    put("eve", 666)
    while described()["LatestRestorableDateTime"] < point:
        time.sleep(0.2)
    outside = dict(SourceTableName=TABLE, TargetTableName="boto3-copy")
    for time_outside in (point - timedelta(days=1), point + timedelta(days=1)):
        refused(
            "InvalidRestoreTimeException",
            client.restore_table_to_point_in_time,
            RestoreDateTime=time_outside,
            **outside,
        )
    client.restore_table_to_point_in_time(
        SourceTableName=TABLE, TargetTableName="boto3-then", RestoreDateTime=point
    )
    client.restore_table_to_point_in_time(
        SourceTableName=TABLE,
        TargetTableName="boto3-now",
        UseLatestRestorableTime=True,
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        GlobalSecondaryIndexOverride=[],
    )
    wait_for("boto3-then")
    wait_for("boto3-now")
    assert balances("boto3-then") == {"ann": 1, "bob": 2}, balances("boto3-then")
    assert balances("boto3-then", "by-branch") == {"ann": 1, "bob": 2}
    assert balances("boto3-now") == {"ann": 100, "eve": 666}, balances("boto3-now")
    then = client.describe_table(TableName="boto3-then")["Table"]
    assert then["RestoreSummary"]["RestoreDateTime"] == point, then["RestoreSummary"]
    now = client.describe_table(TableName="boto3-now")["Table"]
    assert "GlobalSecondaryIndexes" not in now, now
    assert now["ProvisionedThroughput"]["WriteCapacityUnits"] == 6, now


def back_up():
    made = client.create_backup(TableName=TABLE, BackupName="by-hand")["BackupDetails"]
    arn = made["BackupArn"]
    while client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"][
        "BackupStatus"
    ] != "AVAILABLE":
        time.sleep(0.2)
    put("ann", 101)
    client.restore_table_from_backup(TargetTableName="boto3-backup", BackupArn=arn)
    wait_for("boto3-backup")
    assert balances("boto3-backup") == {"ann": 100, "eve": 666}
    client.delete_backup(BackupArn=arn)
    refused("BackupNotFoundException", client.describe_backup, BackupArn=arn)


def delete():
    """What a deleted table leaves."""
    client.delete_table(TableName=TABLE)
    client.get_waiter("table_not_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})
    assert client.list_backups(TableName=TABLE)["BackupSummaries"] == []
    left = client.list_backups(TableName=TABLE, BackupType="SYSTEM")["BackupSummaries"]
    assert [backup["BackupName"] for backup in left] == [f"{TABLE}$DeletedTableBackup"], left
    assert left[0]["BackupExpiryDateTime"] > datetime.now(timezone.utc) + timedelta(days=34)
    refused("ValidationException", client.delete_backup, BackupArn=left[0]["BackupArn"])
    client.restore_table_from_backup(TargetTableName=TABLE, BackupArn=left[0]["BackupArn"])
    wait_for(TABLE)
    assert balances(TABLE, "by-branch") == {"ann": 101, "eve": 666}, balances(TABLE)


def drop():
    for table in (TABLE, "boto3-then", "boto3-now", "boto3-backup"):
        client.delete_table(TableName=table)


for step in (create, switch_on, restore, back_up, delete, drop):
    step()
    print("ok:", step.__name__)

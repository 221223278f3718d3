"""The life of a table as boto3 sees it: KEYLOOM_ENDPOINT names the server."""

import os
from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError

SETTINGS = dict(
    endpoint_url=os.environ["KEYLOOM_ENDPOINT"],
    region_name="us-east-1",
    config=Config(retries={"max_attempts": 2}, connect_timeout=5, read_timeout=30),
)
TABLE = "boto3-orders"

client = boto3.client("dynamodb", **SETTINGS)
streams = boto3.client("dynamodbstreams", **SETTINGS)
table = boto3.resource("dynamodb", **SETTINGS).Table(TABLE)


def refused(code, call, *args, **kwargs):
    """Insists that a call fails with this code, and gives the whole answer."""
    try:
        call(*args, **kwargs)
    except ClientError as error:
        actual = error.response["Error"]["Code"]
        assert actual == code, f"{actual} instead of {code}: {error}"
        return error.response
    raise AssertionError(f"{call} succeeded and should fail with {code}")


def key(role, *names):
    return [{"AttributeName": name, "KeyType": role} for name in names]


def create():
    types = dict(customer="S", serial="N", placed="S", phase="S", city="S", amount="N")
    definition = dict(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind} for name, kind in types.items()
        ],
        KeySchema=key("HASH", "customer") + key("RANGE", "serial"),
        LocalSecondaryIndexes=[
            {
                "IndexName": "by-date",
                "KeySchema": key("HASH", "customer") + key("RANGE", "placed"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-phase",
                "KeySchema": key("HASH", "phase") + key("RANGE", "placed"),
                "Projection": {"ProjectionType": "ALL"},
            },
            {
                "IndexName": "by-place",
                "KeySchema": key("HASH", "phase", "city") + key("RANGE", "placed", "amount"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["remark"]},
            },
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        Tags=[{"Key": "team", "Value": "shop"}],
    )
    refused("ResourceNotFoundException", client.describe_table, TableName=TABLE)
    client.create_table(**definition)
    client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})
    refused("ResourceInUseException", client.create_table, **definition)
    assert TABLE in client.list_tables()["TableNames"]
    described = client.describe_table(TableName=TABLE)["Table"]
    assert len(described["GlobalSecondaryIndexes"]) == 2, described
    assert described["TableStatus"] == "ACTIVE", described


def order(customer, serial):
    return {
        "customer": customer,
        "serial": serial,
        "placed": f"2026-01-{serial % 28 + 1:02}",
        "phase": "open" if serial % 2 else "paid",
        "city": ["Rome", "Oslo"][serial % 3 % 2],
        "amount": Decimal(serial) / 4,
    }


def write():
    with table.batch_writer() as batch:
        for serial in range(60):
            batch.put_item(Item=order("ann", serial))
        for serial in range(10):
            batch.put_item(Item=order("bob", serial))
    only_new = dict(Item=order("ann", 1), ConditionExpression=Attr("customer").not_exists())
    response = refused(
        "ConditionalCheckFailedException",
        table.put_item,
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
        **only_new,
    )
    assert response["Item"]["serial"] == {"N": "1"}, response
    updated = table.update_item(
        Key={"customer": "ann", "serial": 1},
        UpdateExpression="SET remark = :r, amount = amount + :a ADD tags :t",
        ExpressionAttributeValues={":r": "hello", ":a": Decimal("0.5"), ":t": {"x", "y"}},
        ReturnValues="ALL_NEW",
        ReturnConsumedCapacity="INDEXES",
    )
    assert updated["Attributes"]["amount"] == Decimal("0.75"), updated
    assert updated["Attributes"]["tags"] == {"x", "y"}, updated
    # The table, both global indexes in place, the one whose key moved twice.
    assert updated["ConsumedCapacity"]["CapacityUnits"] == 4, updated
    gone = table.delete_item(Key={"customer": "bob", "serial": 9}, ReturnValues="ALL_OLD")
    assert gone["Attributes"]["customer"] == "bob", gone
    raw = {"customer": {"S": "bin"}, "serial": {"N": "1"}, "b": {"B": b"\x00\xff"}, "nil": {"NULL": True}}
    client.put_item(TableName=TABLE, Item=raw)
    read = client.get_item(TableName=TABLE, Key={"customer": {"S": "bin"}, "serial": {"N": "1"}})
    assert read["Item"] == raw, read
    client.delete_item(TableName=TABLE, Key={"customer": {"S": "bin"}, "serial": {"N": "1"}})


def read():
    item = table.get_item(Key={"customer": "ann", "serial": 1}, ConsistentRead=True)["Item"]
    assert item["remark"] == "hello", item
    page = table.query(KeyConditionExpression=Key("customer").eq("ann") & Key("serial").between(5, 9))
    assert [item["serial"] for item in page["Items"]] == [5, 6, 7, 8, 9], page
    late = table.query(
        IndexName="by-date",
        KeyConditionExpression=Key("customer").eq("bob") & Key("placed").gte("2026-01-05"),
        ScanIndexForward=False,
        Select="ALL_ATTRIBUTES",
    )
    assert [item["serial"] for item in late["Items"]] == [8, 7, 6, 5, 4], late
    opened = table.query(
        IndexName="by-phase",
        KeyConditionExpression=Key("phase").eq("open"),
        FilterExpression=Attr("amount").lt(1),
    )
    assert opened["ScannedCount"] == 34 and opened["Count"] == 4, opened
    placed = client.query(
        TableName=TABLE,
        IndexName="by-place",
        KeyConditionExpression="phase = :p AND city = :c AND placed = :d AND amount > :a",
        ExpressionAttributeValues={
            ":p": {"S": "open"},
            ":c": {"S": "Oslo"},
            ":d": {"S": "2026-01-02"},
            ":a": {"N": "0.5"},
        },
    )
    assert [item["amount"]["N"] for item in placed["Items"]] == ["0.75"], placed
    pages = client.get_paginator("query").paginate(
        TableName=TABLE,
        KeyConditionExpression="customer = :c",
        ExpressionAttributeValues={":c": {"S": "ann"}},
        PaginationConfig={"PageSize": 7},
    )
    sizes = [page["Count"] for page in pages]
    assert sum(sizes) == 60 and len(sizes) == 9, sizes
    segments = [
        sum(
            page["Count"]
            for page in client.get_paginator("scan").paginate(
                TableName=TABLE, Segment=segment, TotalSegments=3
            )
        )
        for segment in range(3)
    ]
    assert sum(segments) == 69, segments
    keys = [{"customer": {"S": "ann"}, "serial": {"N": str(n)}} for n in (1, 2, 1000)]
    batch = client.batch_get_item(RequestItems={TABLE: {"Keys": keys}})
    assert len(batch["Responses"][TABLE]) == 2 and not batch["UnprocessedKeys"], batch


def transactions():
    account = lambda name: {"customer": {"S": name}, "serial": {"N": "0"}}
    put = lambda name: {"Put": {"TableName": TABLE, "Item": {**account(name), "amount": {"N": "10"}}}}

    def move(amount, token=None):
        def update(name, by, condition):
            return {
                "Update": {
                    "TableName": TABLE,
                    "Key": account(name),
                    "UpdateExpression": "ADD amount :by",
                    "ConditionExpression": condition,
                    "ExpressionAttributeValues": {":by": {"N": str(by)}, ":n": {"N": str(amount)}},
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }

        actions = [update("x", -amount, "amount >= :n"), update("y", amount, "amount < :n OR amount >= :n")]
        extra = {"ClientRequestToken": token} if token else {}
        return client.transact_write_items(TransactItems=actions, **extra)

    client.transact_write_items(TransactItems=[put("x"), put("y")])
    move(7, token="once")
    move(7, token="once")
    refused("IdempotentParameterMismatchException", move, 1, token="once")
    response = refused("TransactionCanceledException", move, 7)
    reasons = response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"], reasons
    assert reasons[0]["Item"]["amount"] == {"N": "3"}, reasons
    gets = [{"Get": {"TableName": TABLE, "Key": account(name)}} for name in ("x", "y", "z")]
    got = client.transact_get_items(TransactItems=gets)["Responses"]
    assert [r.get("Item", {}).get("amount", {}).get("N") for r in got] == ["3", "17", None], got


def partiql():
    client.execute_statement(
        Statement=f"INSERT INTO \"{TABLE}\" VALUE {{'customer': ?, 'serial': ?, 'phase': 'open'}}",
        Parameters=[{"S": "sql"}, {"N": "1"}],
    )
    refused(
        "DuplicateItemException",
        client.execute_statement,
        Statement=f"INSERT INTO \"{TABLE}\" VALUE {{'customer': 'sql', 'serial': 1}}",
    )
    client.execute_statement(
        Statement=f"UPDATE \"{TABLE}\" SET remark = 'set' WHERE customer = 'sql' AND serial = 1"
    )
    rows = client.execute_statement(
        Statement=f'SELECT remark, phase FROM "{TABLE}" WHERE customer = ?', Parameters=[{"S": "sql"}]
    )["Items"]
    assert rows == [{"remark": {"S": "set"}, "phase": {"S": "open"}}], rows
    statements = [{"Statement": f"DELETE FROM \"{TABLE}\" WHERE customer = 'sql' AND serial = 1"}]
    client.execute_transaction(TransactStatements=statements)
    wrong = client.batch_execute_statement(
        Statements=[{"Statement": f"SELECT * FROM \"{TABLE}\" WHERE customer = 'sql' AND serial = 1"}]
    )["Responses"]
    assert "Item" not in wrong[0], wrong
    refused("ValidationException", client.execute_statement, Statement="SELEKT")


def follow_stream():
    arn = client.describe_table(TableName=TABLE)["Table"]["LatestStreamArn"]
    assert arn in [s["StreamArn"] for s in streams.list_streams(TableName=TABLE)["Streams"]]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    items, events = {}, []
    for shard in shards:
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while iterator:
            page = streams.get_records(ShardIterator=iterator, Limit=40)
            iterator = page.get("NextShardIterator") if page["Records"] else None
            for record in page["Records"]:
                events.append(record["eventName"])
                change = record["dynamodb"]
                at = str(sorted(change["Keys"].items()))
                assert items.get(at) == change.get("OldImage"), record
                items[at] = change.get("NewImage")
    assert {"INSERT", "MODIFY", "REMOVE"} == set(events), set(events)
    pages = client.get_paginator("scan").paginate(TableName=TABLE)
    stored = [item for page in pages for item in page["Items"]]
    names = lambda item: str(sorted((n, item[n]) for n in ("customer", "serial")))
    assert {names(item): item for item in stored} == {k: v for k, v in items.items() if v}
    refused(
        "ResourceNotFoundException",
        streams.describe_stream,
        StreamArn=arn[: -len("2026-01-01T00:00:00.000")] + "1999-01-01T00:00:00.000",
    )


def settings():
    arn = client.describe_table(TableName=TABLE)["Table"]["TableArn"]
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "cost", "Value": "7"}])
    client.untag_resource(ResourceArn=arn, TagKeys=["team"])
    tags = client.list_tags_of_resource(ResourceArn=arn)["Tags"]
    assert tags == [{"Key": "cost", "Value": "7"}], tags
    wanted = {"Enabled": True, "AttributeName": "expires"}
    client.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=wanted)
    ttl = client.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "expires" and ttl["TimeToLiveStatus"].startswith("ENABL"), ttl
    # A new index over four attributes, filled with what is there.
    client.update_table(
        TableName=TABLE,
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in [("city", "S"), ("phase", "S"), ("placed", "S"), ("serial", "N")]
        ],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-city",
                    "KeySchema": key("HASH", "city", "phase") + key("RANGE", "placed", "serial"),
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            }
        ],
    )
    client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})
    status = lambda: next(
        index["IndexStatus"]
        for index in client.describe_table(TableName=TABLE)["Table"]["GlobalSecondaryIndexes"]
        if index["IndexName"] == "by-city"
    )
    while status() != "ACTIVE":
        pass
    found = table.query(
        IndexName="by-city",
        KeyConditionExpression=Key("city").eq("Rome") & Key("phase").eq("open"),
        Select="COUNT",
    )
    expected = sum(
        order("x", n)["city"] == "Rome" and n % 2 == 1 for n in [*range(60), *range(9)]
    )
    assert found["Count"] == expected, (found, expected)
    client.update_table(
        TableName=TABLE, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-city"}}]
    )


def errors():
    refused("ResourceNotFoundException", client.get_item, TableName="absent", Key={"a": {"S": "b"}})
    wrong = refused("ValidationException", table.get_item, Key={"customer": 1, "serial": 1})
    assert "does not match the schema" in wrong["Error"]["Message"], wrong
    refused("ValidationException", table.put_item, Item={"customer": "a", "serial": 1, "phase": 5})
    refused("ValidationException", table.put_item, Item={"customer": "a", "serial": 1, "x": "y" * 410_000})
    refused("ValidationException", table.query, KeyConditionExpression="customer > :c", ExpressionAttributeValues={":c": "a"})
    refused("ValidationException", table.scan, IndexName="absent")
    stranger = boto3.client(
        "dynamodb", aws_access_key_id=os.environ["AWS_ACCESS_KEY_ID"], aws_secret_access_key="wrong", **SETTINGS
    )
    refused("InvalidSignatureException", stranger.list_tables)


def drop():
    client.update_table(TableName=TABLE, DeletionProtectionEnabled=True)
    refused("ValidationException", client.delete_table, TableName=TABLE)
    client.update_table(TableName=TABLE, DeletionProtectionEnabled=False)
    client.delete_table(TableName=TABLE)
    client.get_waiter("table_not_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1})
    refused("ResourceNotFoundException", table.get_item, Key={"customer": "ann", "serial": 1})


for part in [create, write, read, transactions, partiql, follow_stream, settings, errors, drop]:
    part()
    print(f"ok: {part.__name__}")

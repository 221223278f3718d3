"""Two tenants, an editor and an auditor as boto3 sees them: the identities of docs/access-control.md.

KEYLOOM_ENDPOINT names the server; the environment has the root user's credentials.
"""

import json
import os

import boto3
from boto3.dynamodb.conditions import Key
from botocore.config import Config
from botocore.exceptions import ClientError

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/app"


def client(name=None):
    keys = {}
    if name:
        keys["aws_access_key_id"] = f"AKID{name.upper()}"
        keys["aws_secret_access_key"] = f"{name}-secret-that-is-long-enough"
    return boto3.client(
        "dynamodb",
        endpoint_url=os.environ["KEYLOOM_ENDPOINT"],
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 2}, connect_timeout=5, read_timeout=30),
        **keys,
    )


def denied(call, **kwargs):
    """Insists that a call is denied, and gives the sentence."""
    try:
        call(**kwargs)
    except ClientError as error:
        assert error.response["Error"]["Code"] == "AccessDeniedException", error
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == 400, error
        return error.response["Error"]["Message"]
    raise AssertionError(f"{call} {kwargs} succeeded and should be denied")


root, acme, globex = client(), client("acme"), client("globex")


def key(tenant):
    return {"PK": {"S": f"{tenant}#order"}, "SK": {"S": "1"}}


def create():
    names = ["PK", "SK"]
    root.create_table(
        TableName="app",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=[
            {"AttributeName": name, "KeyType": role} for name, role in zip(names, ["HASH", "RANGE"])
        ],
    )
    for tenant in ["acme", "globex"]:
        item = {**key(tenant), "title": {"S": "t"}, "price": {"N": "7"}}
        root.put_item(TableName="app", Item=item)


def both(tenant):
    """Calls about one tenant's items, the same for whoever makes them."""
    pk = {":p": key(tenant)["PK"]}
    select = f"SELECT * FROM app WHERE PK = '{tenant}#order'"
    return [
        ("get_item", dict(TableName="app", Key=key(tenant))),
        (
            "query",
            dict(
                TableName="app",
                KeyConditionExpression="PK = :p",
                ExpressionAttributeValues=pk,
            ),
        ),
        ("batch_get_item", dict(RequestItems={"app": {"Keys": [key(tenant)]}})),
        (
            "transact_write_items",
            dict(
                TransactItems=[
                    {
                        "Update": {
                            "TableName": "app",
                            "Key": key(tenant),
                            "UpdateExpression": "SET title = :t",
                            "ExpressionAttributeValues": {":t": {"S": "u"}},
                        }
                    }
                ]
            ),
        ),
        ("execute_statement", dict(Statement=select)),
    ]


def tenants():
    for mine, other, caller in [("acme", "globex", acme), ("globex", "acme", globex)]:
        for call, arguments in both(mine):
            getattr(caller, call)(**arguments)
        for call, arguments in both(other):
            denied(getattr(caller, call), **arguments)
        denied(caller.scan, TableName="app")
        denied(caller.execute_statement, Statement="SELECT * FROM app")
    said = denied(acme.get_item, TableName="app", Key=key("globex"))
    assert said == (
        "User: arn:aws:iam::000000000000:user/acme is not authorized to perform: "
        f"dynamodb:GetItem on resource: {ARN} because no identity-based policy allows the "
        "dynamodb:GetItem action"
    ), said


def resource_interface():
    """The resource interface builds its requests itself."""
    session = boto3.Session("AKIDACME", "acme-secret-that-is-long-enough", region_name="us-east-1")
    endpoint = os.environ["KEYLOOM_ENDPOINT"]
    table = session.resource("dynamodb", endpoint_url=endpoint).Table("app")
    assert table.query(KeyConditionExpression=Key("PK").eq("acme#order"))["Count"] == 1
    denied(table.query, KeyConditionExpression=Key("PK").eq("globex#order"))
    with table.batch_writer() as batch:
        batch.put_item(Item={"PK": "acme#more", "SK": "1"})


def attributes():
    editor = client("editor")
    read = editor.get_item(TableName="app", Key=key("acme"), ProjectionExpression="title")
    assert read["Item"] == {"title": {"S": "u"}}, read
    denied(editor.get_item, TableName="app", Key=key("acme"))
    denied(editor.get_item, TableName="app", Key=key("acme"), ProjectionExpression="price")


def resource_policy():
    auditor = client("auditor")
    denied(auditor.get_item, TableName="app", Key=key("acme"))
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": "arn:aws:iam::000000000000:user/auditor"},
                "Action": "dynamodb:GetItem",
                "Resource": ARN,
            },
            {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:PutItem", "Resource": ARN},
        ],
    }
    root.put_resource_policy(ResourceArn=ARN, Policy=json.dumps(policy))
    assert "Item" in auditor.get_item(TableName="app", Key=key("acme"))
    said = denied(acme.put_item, TableName="app", Item=key("acme"))
    assert said.endswith("with an explicit deny in a resource-based policy"), said
    said = denied(globex.delete_item, TableName="app", Key=key("globex"))
    assert said.endswith("with an explicit deny in an identity-based policy"), said
    policy["Statement"][0]["Condition"] = {"StringIs": {"aws:username": "x"}}
    try:
        root.put_resource_policy(ResourceArn=ARN, Policy=json.dumps(policy))
        raise AssertionError("a policy that cannot be evaluated was stored")
    except ClientError as error:
        assert error.response["Error"]["Code"] == "ValidationException", error
        assert "StringIs" in error.response["Error"]["Message"], error
    root.delete_resource_policy(ResourceArn=ARN)
    denied(auditor.get_item, TableName="app", Key=key("acme"))


def drop():
    denied(acme.delete_table, TableName="app")
    root.delete_table(TableName="app")


for step in [create, tenants, resource_interface, attributes, resource_policy, drop]:
    step()
    print(f"ok: {step.__name__}")

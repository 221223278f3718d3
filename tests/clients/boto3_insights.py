"""Contributor Insights as boto3 sees them, over every protocol that CloudWatch has.

KEYLOOM_ENDPOINT names the server. It refuses every second write to the table `boto3-throttled`.
"""

import datetime
import os

import boto3
import botocore.loaders
import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

SETTINGS = dict(
    endpoint_url=os.environ["KEYLOOM_ENDPOINT"],
    region_name="us-east-1",
    config=Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30),
)
TABLE, THROTTLED = "boto3-hot", "boto3-throttled"
METRICS = "UniqueContributors MaxContributorValue SampleCount Sum Minimum Maximum Average".split()
MINUTE = datetime.timedelta(minutes=1)

dynamodb = boto3.client("dynamodb", **SETTINGS)


def cloudwatch(protocol):
    """A client that is left no choice of its protocol."""

    class Loader(botocore.loaders.Loader):
        def load_service_model(self, service_name, type_name, api_version=None):
            model = super().load_service_model(service_name, type_name, api_version)
            if service_name == "cloudwatch" and type_name == "service-2":
                model["metadata"].update(protocol=protocol, protocols=[protocol])
            return model

    session = botocore.session.get_session()
    session.register_component("data_loader", Loader())
    return boto3.Session(botocore_session=session).client("cloudwatch", **SETTINGS)


CLOUDWATCH = {name: cloudwatch(name) for name in ("smithy-rpc-v2-cbor", "json", "query")}


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        actual = error.response["Error"]["Code"]
        assert actual == code, f"{actual} instead of {code}: {error}"
        return error.response
    raise AssertionError(f"{call} succeeded and should fail with {code}")


def create(table):
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "PK", "AttributeType": "S"},
            {"AttributeName": "SK", "AttributeType": "N"},
        ],
        KeySchema=[
            {"AttributeName": "PK", "KeyType": "HASH"},
            {"AttributeName": "SK", "KeyType": "RANGE"},
        ],
    )
    dynamodb.update_contributor_insights(TableName=table, ContributorInsightsAction="ENABLE")


def put(table, partition, sort=1):
    item = {"PK": {"S": partition}, "SK": {"N": str(sort)}}
    return dynamodb.put_item(TableName=table, Item=item)


def rule(table, kind):
    described = dynamodb.describe_contributor_insights(TableName=table)
    (name,) = (name for name in described["ContributorInsightsRuleList"] if f"-{kind}-" in name)
    return name


def report(client, name, **more):
    now = datetime.datetime.now(datetime.timezone.utc)
    times = dict(StartTime=now - 5 * MINUTE, EndTime=now + MINUTE, Period=60)
    return client.get_insight_rule_report(**{"RuleName": name, **times, **more})


def hot_key():
    create(TABLE)
    for turn in range(80):
        put(TABLE, f"USER#{turn}")
        put(TABLE, "USER#hot & <loud>", turn % 2)
    for protocol, client in CLOUDWATCH.items():
        found = report(client, rule(TABLE, "PKC"), MaxContributorCount=3, Metrics=METRICS)
        assert found["KeyLabels"] == ["PartitionKey"], found
        assert found["AggregationStatistic"] == "Sum", found
        assert found["AggregateValue"] == 3 * 160, found
        assert abs(found["ApproximateUniqueCount"] - 81) < 17, found
        first, *others = found["Contributors"]
        assert first["Keys"] == ["USER#hot & <loud>"], found
        assert first["ApproximateAggregateValue"] == 3 * 80, found
        assert sum(point["ApproximateValue"] for point in first["Datapoints"]) == 3 * 80, found
        assert all(isinstance(point["Timestamp"], datetime.datetime) for point in first["Datapoints"])
        assert [other["ApproximateAggregateValue"] for other in others] == [3, 3], found
        points = found["MetricDatapoints"]
        assert sum(point["SampleCount"] for point in points) == 160, found
        assert all({"Timestamp", *METRICS} == set(point) for point in points), found
        items = report(client, rule(TABLE, "SKC"), OrderBy="Maximum")
        assert items["KeyLabels"] == ["PartitionKey", "SortKey"], items
        assert sorted(item["Keys"][1] for item in items["Contributors"][:2]) == ["0", "1"], items
        assert "MetricDatapoints" not in items, items
        print(f"  {protocol}")


def throttled_key():
    create(THROTTLED)
    refusals = 0
    for turn in range(40):
        try:
            put(THROTTLED, "hot")
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ThrottlingException", error
            refusals += 1
    assert refusals == 20, refusals
    for client in CLOUDWATCH.values():
        (only,) = report(client, rule(THROTTLED, "PKT"))["Contributors"]
        assert (only["Keys"], only["ApproximateAggregateValue"]) == (["hot"], refusals), only


def rules():
    for client in CLOUDWATCH.values():
        first = client.describe_insight_rules(MaxResults=5)
        rest = client.describe_insight_rules(NextToken=first["NextToken"])
        found = first["InsightRules"] + rest["InsightRules"]
        assert len(found) == 8 and "NextToken" not in rest, found
        assert all(one["State"] == "ENABLED" and one["ManagedRule"] is True for one in found), found
        assert {one["Name"] for one in found} >= {rule(TABLE, "PKC"), rule(THROTTLED, "SKT")}


def errors():
    now = datetime.datetime.now(datetime.timezone.utc)
    for client in CLOUDWATCH.values():
        good = dict(RuleName=rule(TABLE, "PKC"), StartTime=now - MINUTE, EndTime=now, Period=60)
        ask = client.get_insight_rule_report
        answer = refused("ResourceNotFoundException", ask, **{**good, "RuleName": "none"})
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 404, answer
        for bad in [dict(EndTime=now - 2 * MINUTE), dict(Period=90), dict(MaxContributorCount=26)]:
            refused("InvalidParameterValue", ask, **{**good, **bad})
        answer = refused("InvalidAction", client.list_metrics)
        assert "GetInsightRuleReport" in answer["Error"]["Message"], answer


def drop():
    name = rule(TABLE, "PKC")
    dynamodb.update_contributor_insights(TableName=TABLE, ContributorInsightsAction="DISABLE")
    dynamodb.delete_table(TableName=THROTTLED)
    for client in CLOUDWATCH.values():
        refused(
            "ResourceNotFoundException",
            report,
            client=client,
            name=name,
        )
        assert client.describe_insight_rules()["InsightRules"] == []


for part in (hot_key, throttled_key, rules, errors, drop):
    part()
    print(f"ok: {part.__name__}")

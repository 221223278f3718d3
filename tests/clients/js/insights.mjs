// Contributor Insights as the AWS SDK for JavaScript sees them: KEYLOOM_ENDPOINT names the server.
import assert from "node:assert/strict";
import {
  CloudWatchClient,
  DescribeInsightRulesCommand,
  GetInsightRuleReportCommand,
  ListMetricsCommand,
} from "@aws-sdk/client-cloudwatch";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeContributorInsightsCommand,
  DynamoDBClient,
  PutItemCommand,
  UpdateContributorInsightsCommand,
} from "@aws-sdk/client-dynamodb";

const settings = { endpoint: process.env.KEYLOOM_ENDPOINT, region: "us-east-1", maxAttempts: 1 };
const dynamodb = new DynamoDBClient(settings);
const cloudwatch = new CloudWatchClient(settings);
const TableName = "js-hot";

async function report(RuleName, more) {
  const StartTime = new Date(Date.now() - 300_000);
  const EndTime = new Date(Date.now() + 60_000);
  const question = { RuleName, StartTime, EndTime, Period: 60, ...more };
  return cloudwatch.send(new GetInsightRuleReportCommand(question));
}

await dynamodb.send(
  new CreateTableCommand({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  }),
);
const insights = (ContributorInsightsAction) =>
  dynamodb.send(new UpdateContributorInsightsCommand({ TableName, ContributorInsightsAction }));
await insights("ENABLE");
for (let turn = 0; turn < 60; turn++) {
  const id = turn % 2 ? `cold${turn}` : "hot";
  await dynamodb.send(new PutItemCommand({ TableName, Item: { id: { S: id } } }));
}
const described = await dynamodb.send(new DescribeContributorInsightsCommand({ TableName }));
const [rule] = described.ContributorInsightsRuleList;

const found = await report(rule, { Metrics: ["Sum", "MaxContributorValue"] });
assert.deepEqual(found.Contributors[0].Keys, ["hot"]);
assert.equal(found.Contributors[0].ApproximateAggregateValue, 90);
assert.equal(found.AggregateValue, 180);
assert(found.Contributors[0].Datapoints[0].Timestamp instanceof Date);
assert.equal(found.MetricDatapoints.map((point) => point.Sum).reduce((a, b) => a + b), 180);
console.log("ok: report");

const { InsightRules } = await cloudwatch.send(new DescribeInsightRulesCommand({}));
assert(InsightRules.some((one) => one.Name === rule && one.ManagedRule));
await assert.rejects(report(rule, { Period: 61 }), { name: "InvalidParameterValueException" });
await assert.rejects(cloudwatch.send(new ListMetricsCommand({})), /GetInsightRuleReport/);
await insights("DISABLE");
await assert.rejects(report(rule), { name: "ResourceNotFoundException" });
await dynamodb.send(new DeleteTableCommand({ TableName }));
console.log("ok: drop");

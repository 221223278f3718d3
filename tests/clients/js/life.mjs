// The life of a table as the AWS SDK for JavaScript sees it: KEYLOOM_ENDPOINT names the server.

import assert from "node:assert/strict";
import {
  BatchGetItemCommand,
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ListTagsOfResourceCommand,
  TagResourceCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
  paginateScan,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from "@aws-sdk/client-dynamodb-streams";
import {
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  ExecuteStatementCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
  paginateQuery,
} from "@aws-sdk/lib-dynamodb";

const settings = { endpoint: process.env.KEYLOOM_ENDPOINT, region: "us-east-1", maxAttempts: 2 };
const client = new DynamoDBClient(settings);
const streams = new DynamoDBStreamsClient(settings);
const documents = DynamoDBDocumentClient.from(client);
const TableName = "js-orders";

/** Insists that a command fails with this error, and gives the error. */
async function refused(name, sender, command) {
  try {
    await sender.send(command);
  } catch (error) {
    assert.equal(error.name, name, error.message);
    return error;
  }
  assert.fail(`${command.constructor.name} succeeded and should fail with ${name}`);
}

const hash = (AttributeName) => ({ AttributeName, KeyType: "HASH" });
const range = (AttributeName) => ({ AttributeName, KeyType: "RANGE" });
const definition = (AttributeName, AttributeType) => ({ AttributeName, AttributeType });

const parts = {
  async create() {
    await client.send(
      new CreateTableCommand({
        TableName,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [
          definition("customer", "S"),
          definition("serial", "N"),
          definition("phase", "S"),
          definition("city", "S"),
        ],
        KeySchema: [hash("customer"), range("serial")],
        GlobalSecondaryIndexes: [
          {
            IndexName: "by-phase",
            KeySchema: [hash("phase"), range("serial")],
            Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["remark"] },
          },
          {
            IndexName: "by-place",
            KeySchema: [hash("phase"), hash("city"), range("serial"), range("customer")],
            Projection: { ProjectionType: "ALL" },
          },
        ],
        StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
      }),
    );
    await waitUntilTableExists({ client, maxWaitTime: 20, minDelay: 1, maxDelay: 1 }, { TableName });
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    assert.equal(Table.TableStatus, "ACTIVE");
    assert.equal(Table.GlobalSecondaryIndexes.length, 2);
  },

  async write() {
    const order = (customer, serial) => ({
      customer,
      serial,
      phase: serial % 2 ? "open" : "paid",
      city: serial % 3 ? "Rome" : "Oslo",
    });
    for (const customer of ["ann", "bob"]) {
      const requests = Array.from({ length: 20 }, (_, n) => ({
        PutRequest: { Item: order(customer, n) },
      }));
      const { UnprocessedItems } = await documents.send(
        new BatchWriteCommand({ RequestItems: { [TableName]: requests } }),
      );
      assert.deepEqual(UnprocessedItems, {});
    }
    const failed = await refused(
      "ConditionalCheckFailedException",
      documents,
      new PutCommand({
        TableName,
        Item: order("ann", 1),
        ConditionExpression: "attribute_not_exists(customer)",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
    assert.equal(failed.Item.customer.S, "ann");
    const { Attributes } = await documents.send(
      new UpdateCommand({
        TableName,
        Key: { customer: "ann", serial: 1 },
        UpdateExpression: "SET remark = :r, #l = list_append(if_not_exists(#l, :none), :l)",
        ExpressionAttributeNames: { "#l": "list" },
        ExpressionAttributeValues: { ":r": "hello", ":none": [], ":l": [1, { deep: true }, null] },
        ReturnValues: "ALL_NEW",
      }),
    );
    assert.deepEqual(Attributes.list, [1, { deep: true }, null]);
    await documents.send(new DeleteCommand({ TableName, Key: { customer: "bob", serial: 19 } }));
  },

  async read() {
    const got = await documents.send(
      new GetCommand({ TableName, Key: { customer: "ann", serial: 1 }, ConsistentRead: true }),
    );
    assert.equal(got.Item.remark, "hello");
    const query = {
      TableName,
      KeyConditionExpression: "customer = :c",
      ExpressionAttributeValues: { ":c": "ann" },
    };
    const sizes = [];
    for await (const page of paginateQuery({ client: documents, pageSize: 6 }, query)) {
      sizes.push(page.Count);
    }
    assert.deepEqual(sizes, [6, 6, 6, 2]);
    const placed = await documents.send(
      new QueryCommand({
        TableName,
        IndexName: "by-place",
        KeyConditionExpression: "phase = :p AND city = :c AND serial = :s AND customer > :a",
        ExpressionAttributeValues: { ":p": "open", ":c": "Oslo", ":s": 3, ":a": "a" },
        ScanIndexForward: false,
      }),
    );
    assert.deepEqual(placed.Items.map((item) => item.customer), ["bob", "ann"]);
    const index = await documents.send(
      new QueryCommand({
        TableName,
        IndexName: "by-phase",
        KeyConditionExpression: "phase = :p",
        FilterExpression: "attribute_exists(remark)",
        ExpressionAttributeValues: { ":p": "open" },
        ReturnConsumedCapacity: "INDEXES",
      }),
    );
    assert.deepEqual([index.Count, index.ScannedCount], [1, 19]);
    assert.equal(index.ConsumedCapacity.GlobalSecondaryIndexes["by-phase"].CapacityUnits, 0.5);
    let scanned = 0;
    for await (const page of paginateScan({ client, pageSize: 10 }, { TableName })) {
      scanned += page.Count;
    }
    assert.equal(scanned, 39);
    const keys = [1, 99].map((n) => ({ customer: { S: "ann" }, serial: { N: `${n}` } }));
    const batch = await client.send(
      new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: keys } } }),
    );
    assert.equal(batch.Responses[TableName].length, 1);
  },

  async transactions() {
    const put = (customer, more) => ({ Put: { TableName, Item: { customer, serial: 0 }, ...more } });
    const fresh = { ConditionExpression: "attribute_not_exists(customer)" };
    const both = { TransactItems: [put("x", fresh), put("y", fresh)] };
    await documents.send(new TransactWriteCommand(both));
    const cancelled = await refused(
      "TransactionCanceledException",
      documents,
      new TransactWriteCommand({ TransactItems: [put("z"), put("y", fresh)] }),
    );
    assert.deepEqual(cancelled.CancellationReasons.map((reason) => reason.Code), [
      "None",
      "ConditionalCheckFailed",
    ]);
    const get = (customer) => ({ Get: { TableName, Key: { customer, serial: 0 } } });
    const { Responses } = await documents.send(
      new TransactGetCommand({ TransactItems: [get("x"), get("z")] }),
    );
    assert.deepEqual(Responses, [{ Item: { customer: "x", serial: 0 } }, {}]);
  },

  async partiql() {
    const { Items } = await documents.send(
      new ExecuteStatementCommand({
        Statement: `SELECT remark FROM "${TableName}" WHERE customer = ? AND serial = ?`,
        Parameters: ["ann", 1],
      }),
    );
    assert.deepEqual(Items, [{ remark: "hello" }]);
  },

  async follow_stream() {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    const StreamArn = Table.LatestStreamArn;
    const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
    const counts = {};
    for (const { ShardId } of StreamDescription.Shards) {
      const start = { StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" };
      let { ShardIterator } = await streams.send(new GetShardIteratorCommand(start));
      while (ShardIterator) {
        const page = await streams.send(new GetRecordsCommand({ ShardIterator }));
        for (const record of page.Records) {
          counts[record.eventName] = (counts[record.eventName] ?? 0) + 1;
          assert.ok(record.dynamodb.ApproximateCreationDateTime instanceof Date);
        }
        ShardIterator = page.Records.length ? page.NextShardIterator : undefined;
      }
    }
    assert.deepEqual(counts, { INSERT: 42, MODIFY: 1, REMOVE: 1 });
  },

  async settings() {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    const ResourceArn = Table.TableArn;
    await client.send(new TagResourceCommand({ ResourceArn, Tags: [{ Key: "a", Value: "b" }] }));
    const { Tags } = await client.send(new ListTagsOfResourceCommand({ ResourceArn }));
    assert.deepEqual(Tags, [{ Key: "a", Value: "b" }]);
    const TimeToLiveSpecification = { Enabled: true, AttributeName: "expires" };
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    const ttl = await client.send(new DescribeTimeToLiveCommand({ TableName }));
    assert.equal(ttl.TimeToLiveDescription.AttributeName, "expires");
    await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }));
    await refused("ValidationException", client, new DeleteTableCommand({ TableName }));
    await client.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
  },

  async errors() {
    const Key = { customer: "ann", serial: 1 };
    await refused("ResourceNotFoundException", documents, new GetCommand({ TableName: "none", Key }));
    await refused(
      "ValidationException",
      documents,
      new GetCommand({ TableName, Key: { customer: "ann", serial: "one" } }),
    );
    const stranger = new DynamoDBClient({
      ...settings,
      credentials: { accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: "wrong" },
    });
    await refused("InvalidSignatureException", stranger, new DescribeTableCommand({ TableName }));
  },

  async drop() {
    await client.send(new DeleteTableCommand({ TableName }));
    const wait = { client, maxWaitTime: 20, minDelay: 1, maxDelay: 1 };
    await waitUntilTableNotExists(wait, { TableName });
  },
};

for (const [name, part] of Object.entries(parts)) {
  await part();
  console.log(`ok: ${name}`);
}

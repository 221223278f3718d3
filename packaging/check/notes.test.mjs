// The servers for tests as the package's page shows them.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { CreateTableCommand, DynamoDBClient, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { startServer } from "keyloom/testing";

let server, fork;
before(async () => {
  server = await startServer();
  const db = new DynamoDBClient(server.clientConfig());
  await db.send(
    new CreateTableCommand({
      TableName: "notes",
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
});
after(() => server.close());
beforeEach(async () => {
  fork = await server.fork();
});
afterEach(() => fork.close());

for (const name of ["one", "two"]) {
  test(`each test has its own notes: ${name}`, async () => {
    const db = new DynamoDBClient(fork.clientConfig());
    await db.send(new PutItemCommand({ TableName: "notes", Item: { id: { S: name } } }));
    const { Items } = await db.send(new ScanCommand({ TableName: "notes" }));
    assert.deepEqual(Items, [{ id: { S: name } }]);
  });
}

test("an option that is wrong is named", async () => {
  await assert.rejects(startServer(["--throtle", "enforce"]), /--throtle/);
});

// The servers for tests under vitest, as the package's page shows them; under jest with another first line.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { CreateTableCommand, DynamoDBClient, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { startServer } from "keyloom/testing";

let server, fork;
beforeAll(async () => {
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
afterAll(() => server.close());
beforeEach(async () => {
  fork = await server.fork();
});
afterEach(() => fork.close());

for (const name of ["one", "two"]) {
  test(`each test has its own notes: ${name}`, async () => {
    const db = new DynamoDBClient(fork.clientConfig());
    await db.send(new PutItemCommand({ TableName: "notes", Item: { id: { S: name } } }));
    const { Items } = await db.send(new ScanCommand({ TableName: "notes" }));
    expect(Items).toEqual([{ id: { S: name } }]);
  });
}

test("an option that is wrong is named", async () => {
  await expect(startServer(["--throtle", "enforce"])).rejects.toThrow(/--throtle/);
});

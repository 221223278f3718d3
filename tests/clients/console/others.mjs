// `keyloom console` before endpoints that are not ours: dynalite (npm) and moto (PyPI). Read, edit, and errors that say
// what is wrong, with nothing but DynamoDB's operations behind the pages.
import { existsSync } from "node:fs";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { call } from "./demo-data.mjs";
import { editorText, setEditor } from "./flows.mjs";
import { assert, equal, eventually, keyloom, openPage } from "./harness.mjs";
import { start as startMock } from "./mock.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
/** The commands of other endpoints, which listen on the port that they are given. */
const OTHERS = {
  dynalite: [join(root, "tests/clients/js/node_modules/.bin/dynalite"), (port) => ["--port", port, "--createTableMs", "0"]],
  moto: [join(root, ".venv/bin/moto_server"), (port) => ["-H", "127.0.0.1", "-p", port]],
};
const LABEL = "The item as text";
/** What both want; neither looks at the signature. */
const SIGNED = { authorization: "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0", "x-amz-date": "20260101T000000Z" };

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(String(port)));
    });
  });

export async function others(suite, world) {
  for (const [name, [program, words]] of Object.entries(OTHERS)) {
    if (!existsSync(program)) {
      console.log(`        ${name} is not installed: not looked at`);
      if (process.env.KEYLOOM_REQUIRE_CLIENTS) suite.failed.push(`${name} is not installed`);
      continue;
    }
    await suite.test(`keyloom console before ${name}: read, edit, errors`, async () => {
      const port = await freePort();
      const endpoint = `http://127.0.0.1:${port}/`;
      const child = spawn(program, words(port), { stdio: "ignore", env: { ...process.env, AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" } });
      try {
        await looked(suite, world, name, endpoint);
      } finally {
        child.kill("SIGKILL");
      }
    });
  }
}

async function looked(suite, world, name, endpoint) {
  const ask = (operation, body) => call(endpoint, operation, body, SIGNED);
  await eventually(`${name} answers`, () => ask("ListTables", {}).then(() => true, () => false), 60_000);
  await ask("CreateTable", {
    TableName: "Pets",
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "owner", AttributeType: "S" }, { AttributeName: "pet", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "owner", KeyType: "HASH" }, { AttributeName: "pet", KeyType: "RANGE" }],
  });
  await eventually("the table", async () => (await ask("DescribeTable", { TableName: "Pets" })).Table.TableStatus === "ACTIVE");
  const Key = { owner: { S: "ann" }, pet: { S: "rex" } };
  for (let n = 0; n < 60; n++) await ask("PutItem", { TableName: "Pets", Item: { ...Key, pet: { S: `pet-${100 + n}` }, age: { N: String(n) } } });
  const digits = "1234567890.1234567890123456789";
  await ask("PutItem", { TableName: "Pets", Item: { ...Key, age: { N: digits }, name: { S: "before" }, toys: { SS: ["ball", "bone"] } } });

  const credentials = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret", AWS_REGION: "us-east-1" };
  Object.assign(process.env, credentials);
  const served = await keyloom(world.binary, ["console", "--endpoint", endpoint, "--no-open", "--port", "0"], /(http:\/\/\S+#token=[\w-]+)/);
  const at = new URL(served.address);
  const mock = process.env.CONSOLE_DIST ? await startMock({ upstream: at.origin }) : null;
  const base = mock?.url ?? `${at.origin}/keyloom/`;
  const opened = await openPage(world.browser, `${base}${at.hash}&/overview`, { allowed: [/40[0-9] \(/, /50[0-9] \(/] });
  const { page } = opened;
  const rows = page.getByRole("grid", { name: "Items" }).locator(".body .row:not(.group)");
  const item = page.locator(".item-panel");

  // What other endpoints do not know is said, and the rest is there.
  await page.getByRole("grid", { name: "Tables" }).getByText("Pets").waitFor();
  await page.getByText("keeps no statistics").waitFor();
  await page.screenshot({ path: suite.picture(`${name}-overview`) });
  await page.goto(`${base}#/heat/Pets`);
  await page.getByText("This endpoint keeps no heat.").waitFor();
  await page.screenshot({ path: suite.picture(`${name}-heat`) });

  // Forward and backward.
  await page.goto(`${base}#/data/Pets?pk=ann&limit=25&show=rows`);
  await rows.first().waitFor();
  const first = await rows.first().textContent();
  await page.getByRole("button", { name: "Next page" }).click();
  await eventually("the second page", async () => (await rows.first().textContent()) !== first);
  await page.getByRole("button", { name: "Previous page" }).click();
  await eventually("the first page again", async () => (await rows.first().textContent()) === first);

  // Edited, with all digits; then somebody else writes meanwhile.
  await page.goto(`${base}#/data/Pets?pk=ann&item=${encodeURIComponent(JSON.stringify(Key))}`);
  await item.getByText(digits).waitFor();
  await item.getByRole("tab", { name: "JSON" }).click();
  await eventually("the text", async () => (await editorText(page, LABEL).catch(() => "")).includes("before"));
  await setEditor(page, LABEL, (await editorText(page, LABEL)).replace('"before"', '"after"'));
  await item.getByRole("button", { name: "Save" }).click();
  await item.getByText("after", { exact: true }).waitFor();
  const stored = async () => (await ask("GetItem", { TableName: "Pets", Key, ConsistentRead: true })).Item;
  const { age, name: now, toys } = await stored();
  equal([age, now, toys.SS.sort()], [{ N: digits }, { S: "after" }, ["ball", "bone"]], "what is stored");
  await item.getByRole("tab", { name: "DynamoDB" }).click();
  await eventually("the text", async () => (await editorText(page, LABEL)).includes('"after"'));
  await setEditor(page, LABEL, (await editorText(page, LABEL)).replace('"after"', '"mine"'));
  await ask("PutItem", { TableName: "Pets", Item: { ...Key, name: { S: "theirs" } } });
  await item.getByRole("button", { name: "Save" }).click();
  await item.getByText("Somebody changed this item after you read it.").waitFor();
  await page.screenshot({ path: suite.picture(`${name}-conflict`) });
  equal((await stored()).name, { S: "theirs" }, "theirs is kept");

  // Errors by their names: a table that is not there, a request that is wrong, an endpoint that is gone.
  await page.goto(`${base}#/data/Nothing`);
  await page.getByRole("alert").getByText("ResourceNotFoundException").first().waitFor();
  const wrong = encodeURIComponent(JSON.stringify({ TableName: "Pets", Key: { owner: { S: "ann" } } }));
  await page.goto(`${base}#/data/Pets?mode=request&operation=GetItem&body=${wrong}`);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("alert").getByText("ValidationException").first().waitFor();
  assert(opened.problems.length === 0, opened.problems.join("\n"));
  await opened.context.close();
  mock?.close();
  await served.stop();
}

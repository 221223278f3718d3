// Much data on a real server: `node large.mjs KEYLOOM PICTURES`. As many tables as an account can get (10,000), a partition of a million items, an
// export of all of it; then every page in Firefox, if it is installed. `scripts/long console` runs it with a release build.
import { existsSync } from "node:fs";
import { call } from "./demo-data.mjs";
import { PROGRAM as FIREFOX, firefox } from "./firefox.mjs";
import { assert, keyloom, openBrowser, openPage, stopAll, Suite } from "./harness.mjs";
import { ITEMS, itemOf, manyItems, manyTables, TABLES, tableName } from "./many.mjs";

const [binary, pictures, ...only] = process.argv.slice(2);
const suite = new Suite(pictures, only);
/** Requests at a time while the data is made. */
const LANES = 8;

const schema = (name, names) => ({
  TableName: name,
  BillingMode: "PAY_PER_REQUEST",
  AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
  KeySchema: names.map((AttributeName, n) => ({ AttributeName, KeyType: n ? "RANGE" : "HASH" })),
});

/** Does something for each of so many numbers, some at a time. */
async function each(count, run) {
  let next = 0;
  const lane = async () => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

async function fill(api) {
  const began = performance.now();
  await each(TABLES - 1, (n) => call(api, "CreateTable", schema(tableName(n + 1), ["id"])));
  await call(api, "CreateTable", schema("Million", ["pk", "sk"]));
  console.log(`        ${TABLES} tables in ${Math.round(performance.now() - began)} ms`);
  await each(ITEMS / 25, async (part) => {
    const requests = Array.from({ length: 25 }, (_, n) => ({ PutRequest: { Item: itemOf(part * 25 + n) } }));
    await call(api, "BatchWriteItem", { RequestItems: { Million: requests } });
  });
  console.log(`        and ${ITEMS} items after ${Math.round(performance.now() - began)} ms`);
}

async function timed(url) {
  const began = performance.now();
  const answer = await (await fetch(url)).json();
  return [answer, Math.round(performance.now() - began)];
}

try {
  const server = await keyloom(binary, ["serve", "--memory", "--port", "0", "--max-tables", String(TABLES)]);
  const [api, url] = [`${server.address}/`, `${server.address}/keyloom/`];
  const browser = await openBrowser();
  await fill(api);
  await suite.test("large: as many tables as there may be", async () => {
    for (const query of ["limit=100", "limit=100&contains=table-09999", "limit=100&from=table-08000"]) {
      const [{ total, tables }, ms] = await timed(`${url}api/tables?${query}`);
      console.log(`        GET tables?${query}: ${tables.length} of ${total} in ${ms} ms`);
    }
    await manyTables(browser, url, TABLES);
  });
  await suite.test("large: a partition of a million items", () => manyItems(browser, url, "Million"));
  await suite.test("large: the end of the partition, backwards", async () => {
    const { page, context, problems } = await openPage(browser, `${url}#/data/Million?pk=million&dir=back&show=rows`);
    await page.getByText(String(ITEMS - 1)).first().waitFor();
    await page.screenshot({ path: suite.picture("large") });
    assert(!problems.length, problems.join());
    await context.close();
  });
  await suite.test("large: the whole partition as a file", async () => {
    const { page, context, problems } = await openPage(browser, `${url}#/data/Million?pk=million`);
    await page.getByRole("button", { name: "Export" }).click();
    const began = performance.now();
    const download = page.waitForEvent("download", { timeout: 300_000 });
    await page.getByRole("dialog").getByRole("button", { name: "Export" }).click();
    const stream = await (await download).createReadStream();
    let [bytes, lines] = [0, 0];
    for await (const chunk of stream) {
      bytes += chunk.length;
      for (const byte of chunk) lines += byte === 10 ? 1 : 0;
    }
    console.log(`        ${lines} lines, ${Math.round(bytes / 1e6)} MB in ${Math.round(performance.now() - began)} ms`);
    assert(lines === ITEMS, `${lines} lines instead of ${ITEMS}`);
    assert(!problems.length, problems.join());
    await context.close();
  });
  await browser.close();
  await server.stop();
  if (existsSync(FIREFOX)) {
    const demo = await keyloom(binary, ["demo", "--serve", "--port", "0"]);
    const filter = { FilterExpression: "begins_with(SK, :s)", ExpressionAttributeValues: { ":s": { S: "TASK#" } } };
    const [task] = (await call(`${demo.address}/`, "Scan", { TableName: "tasks", ...filter, Limit: 500 })).Items;
    await firefox(suite, { url: `${demo.address}/keyloom/`, design: "tasks", busy: task.PK, someTask: { PK: task.PK, SK: task.SK } });
  } else console.log("        Firefox is not installed: not looked at");
} finally {
  stopAll();
}
if (suite.failed.length) console.log(`${suite.failed.length} failed: ${suite.failed.join(", ")}`);
process.exit(suite.failed.length ? 1 : 0);

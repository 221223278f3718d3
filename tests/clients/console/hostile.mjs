// Hostile data: nothing executes, nothing freezes.
import { call } from "./demo-data.mjs";
import { assert, equal, openPage, processor } from "./harness.mjs";
import { ITEMS, itemOf, manyItems, manyTables, TABLES, tableName } from "./many.mjs";
import { start } from "./mock.mjs";

const rows = (page) => page.getByRole("grid", { name: "Items" }).locator(".body .row:not(.group)");
const S = (text) => ({ S: text });

const SCRIPTS = [
  "<script>globalThis.hacked = 1</script>",
  "<img src=x onerror='globalThis.hacked = 2'>",
  "\"><svg onload=globalThis.hacked=3>",
  "javascript:globalThis.hacked=4",
  "{{constructor.constructor('globalThis.hacked=5')()}}",
  "</title></textarea><iframe srcdoc='<script>parent.hacked=6</script>'>",
];
const TEXTS = ["עברית וערבית العربية", "\u202egnp.exe", "日本語のキー", "ภาษาไทย", "हिन्दी", "👩‍👩‍👧‍👦🏳️‍🌈", "a\u0000b\u0007c\nd", "Z̸̢͔̗a̵l̷g̶o̴", "\u2067\u2068nested", "İıŞş", "𝕦𝕟𝕚", "__proto__", "constructor", "%00%2e%2e/%23?&=", "x".repeat(900)];

/** Milliseconds of work for the whole of an item of 400 KB: all its text, as JSON in the editor, and back. */
const WHOLE_ITEM = { all: 250, text: 250, values: 120 };

export async function hostile(suite, world) {
  const { browser } = world;
  await call(world.api, "CreateTable", {
    TableName: "Hostile",
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }, { AttributeName: "sk", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  });
  await suite.test("hostile: HTML, scripts, all scripts and directions in keys, names and values", async () => {
    const all = [...SCRIPTS, ...TEXTS];
    for (const [n, text] of all.entries()) {
      const Item = { pk: S(text), sk: S(text), n: { N: String(n) }, [text.slice(0, 200)]: S(text), list: { L: [S(text), { M: { [text.slice(0, 200)]: S(text) } }] }, set: { SS: [text, "b"] } };
      await call(world.api, "PutItem", { TableName: "Hostile", Item });
    }
    const opened = await openPage(browser, `${world.url}#/data/Hostile?show=rows`);
    const { page } = opened;
    await rows(page).first().waitFor();
    await page.screenshot({ path: suite.picture("hostile") });
    for (const text of [...SCRIPTS, ...TEXTS.slice(0, 9)]) {
      const key = JSON.stringify({ pk: S(text), sk: S(text) });
      await page.goto(`${world.url}#/data/Hostile?pk=${encodeURIComponent(text)}&item=${encodeURIComponent(key)}`);
      await page.locator(".item-panel dd").first().waitFor();
    }
    await page.screenshot({ path: suite.picture("hostile-item") });
    await page.locator(".item-panel").getByRole("tab", { name: "JSON" }).click();
    await page.getByLabel("The item as text", { exact: true }).waitFor();
    equal(await page.evaluate(() => globalThis.hacked ?? null), null, "what ran");
    equal(await page.evaluate(() => document.querySelectorAll("#app script, #app iframe, #app img[src=x]").length), 0, "elements made of data");
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
  });

  await suite.test("hostile: names of tables and findings", async () => {
    const evil = SCRIPTS[1];
    const mock = await start({
      upstream: world.api,
      answers: {
        "POST ListTables": { TableNames: SCRIPTS },
        "GET /keyloom/api/tables": { tables: SCRIPTS.map((name) => ({ name, status: evil, items: 1, bytes: 1, billing: evil, partitionKey: evil, sortKey: evil, indexes: [] })), total: 6 },
        "GET /keyloom/api/doctor": { findings: [{ id: "x", severity: "error", place: evil, title: evil, evidence: [evil], fix: evil, diff: `+${evil}`, patterns: [evil] }] },
      },
    });
    const opened = await openPage(browser, `${mock.url}#/overview`);
    const { page } = opened;
    await page.getByRole("grid", { name: "Tables" }).locator(".body .row").first().waitFor();
    for (const [view, shown] of [["doctor", ".finding h2"], ["data", ".grid .row"]]) {
      await page.goto(`${mock.url}#/${view}`);
      await page.locator(shown).getByText(evil).first().waitFor();
    }
    equal(await page.evaluate(() => globalThis.hacked ?? null), null, "what ran");
    equal(opened.problems.filter((problem) => !/400|404/.test(problem)), [], "problems of the page");
    await opened.context.close();
    mock.close();
  });

  await suite.test("hostile: an item of 400 KB, in rows, in the panel, in the editor", async () => {
    const Key = { pk: S("large"), sk: S("1") };
    const text = "ab<b>\n".repeat(1000) + "x".repeat(380_000);
    await call(world.api, "PutItem", { TableName: "Hostile", Item: { ...Key, text: S(text), many: { L: Array.from({ length: 300 }, (_, n) => ({ N: String(n) })) } } });
    const opened = await openPage(browser, `${world.url}#/data/Hostile?pk=large&item=${encodeURIComponent(JSON.stringify(Key))}`);
    const { page } = opened;
    const item = page.locator(".item-panel");
    await item.locator("dd").first().waitFor();
    const work = await processor(page);
    const steps = {
      all: () => page.getByRole("button", { name: "Show all" }).click(),
      text: async () => {
        await item.getByRole("tab", { name: "JSON" }).click();
        await page.getByLabel("The item as text", { exact: true }).waitFor();
      },
      values: async () => {
        await item.getByRole("tab", { name: "Values" }).click();
        await page.getByRole("button", { name: "Show all" }).waitFor();
      },
    };
    const spent = {};
    for (const [name, step] of Object.entries(steps)) spent[name] = await work(step);
    console.log(`        an item of 400 KB, work of the page in ms: ${JSON.stringify(spent)}`);
    for (const [name, most] of Object.entries(WHOLE_ITEM)) assert(spent[name] < most, `${name}: ${spent[name]} ms of work`);
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
  });

  await suite.test("hostile: ten thousand tables", async () => {
    const names = Array.from({ length: TABLES }, (_, n) => tableName(n));
    const summary = (name) => ({ name, status: "ACTIVE", items: 1, bytes: 1, billing: "on-demand", partitionKey: "id", sortKey: null, indexes: [] });
    const mock = await start({
      upstream: world.api,
      answers: {
        "POST ListTables": (_, sent) => {
          const after = JSON.parse(sent).ExclusiveStartTableName;
          const at = after ? names.indexOf(after) + 1 : 0;
          const page = names.slice(at, at + 100);
          return { TableNames: page, ...(at + 100 < names.length ? { LastEvaluatedTableName: page.at(-1) } : {}) };
        },
        "GET /keyloom/api/tables": (query) => {
          const found = names.filter((name) => name.includes(query.get("contains") ?? "") && name > (query.get("from") ?? ""));
          return { tables: found.slice(0, 100).map(summary), next: found.length > 100 ? found[99] : null, total: names.length };
        },
      },
    });
    await manyTables(browser, mock.url, TABLES);
    mock.close();
  });

  await suite.test("hostile: a partition of a million items; 100,000 loaded rows scroll", async () => {
    const mock = await start({
      upstream: world.api,
      answers: {
        "POST Query": (_, sent) => {
          const asked = JSON.parse(sent);
          if (asked.TableName !== "Hostile") return null;
          const from = asked.ExclusiveStartKey ? Number(asked.ExclusiveStartKey.sk.S) + 1 : 0;
          const Items = Array.from({ length: Math.min(asked.Limit, ITEMS - from) }, (_, n) => itemOf(from + n));
          return { Items, Count: Items.length, ScannedCount: Items.length, LastEvaluatedKey: { pk: S("million"), sk: Items.at(-1).sk }, ConsumedCapacity: { CapacityUnits: 1 } };
        },
      },
    });
    await manyItems(browser, mock.url, "Hostile");
    mock.close();
  });
}

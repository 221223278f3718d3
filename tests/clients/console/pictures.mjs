// The README's pictures, of a running `keyloom demo --serve`. The test run makes them into its folder of pictures, so that
// they can be made; `scripts/pictures` renews those in docs/images, when the demo has run for long enough to be worth a look:
// `node pictures.mjs http://127.0.0.1:8000/keyloom/ docs/images`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import UPNG from "upng-js";
import { call } from "./demo-data.mjs";
import { openBrowser, openPage } from "./harness.mjs";

const COLOURS = 128;
const size = { width: 1280, height: 760 };

/** A picture with a palette takes a third of the space, and looks the same. */
function optimise(file) {
  const { buffer } = readFileSync(file);
  const picture = UPNG.decode(buffer);
  writeFileSync(file, Buffer.from(UPNG.encode([UPNG.toRGBA8(picture)[0]], picture.width, picture.height, COLOURS)));
}

/** The user with most items: memberships and assignments beside the profile. */
async function richest(url) {
  const body = { TableName: "tasks", FilterExpression: "begins_with(PK, :u) AND begins_with(SK, :t)", ExpressionAttributeValues: { ":u": { S: "USER#" }, ":t": { S: "TEAM#" } } };
  const many = new Map();
  let page = {};
  do {
    const from = page.LastEvaluatedKey ? { ExclusiveStartKey: page.LastEvaluatedKey } : {};
    page = await call(new URL("/", url), "Scan", { ...body, ...from });
    for (const { PK } of page.Items) many.set(PK.S, (many.get(PK.S) ?? 0) + 1);
  } while (page.LastEvaluatedKey);
  return [...many].sort((a, b) => b[1] - a[1])[0][0];
}

/** Points at the hottest cell of a column that is well in sight. */
async function pointAtHeat(page) {
  await page.waitForTimeout(3000);
  const box = await page.locator(".plane canvas").boundingBox();
  const [across, down] = await page.evaluate(async () => {
    const now = Date.now();
    const heat = await (await fetch(`/keyloom/api/heat?table=tasks&what=writes&from=${now - 900_000}&to=${now}`)).json();
    const sums = heat.cells.map((column) => Math.max(...column));
    const wished = Math.floor(heat.columns * 0.6);
    const column = sums[wished] > 0 ? wished : sums.findLastIndex((sum) => sum > 0);
    const rows = heat.cells[column];
    return [(column + 0.5) / heat.columns, (rows.indexOf(Math.max(...rows)) + 0.5) / heat.rows];
  });
  await page.mouse.move(box.x + box.width * across, box.y + box.height * down);
}

/** Makes the pictures; the paths of their files. */
export async function takePictures(browser, url, folder) {
  const shots = {
    "console-heat.png": ["#/heat/tasks?span=15m&what=writes", "dark", ".hot-keys li", pointAtHeat],
    "console-data.png": [`#/data/tasks?pk=${encodeURIComponent(await richest(url))}`, "light", ".grid .row.inner", async (page) => {
      await page.locator(".grid .row.inner", { hasText: "Membership" }).first().click();
      await page.locator(".item-panel dd").first().waitFor();
      await page.waitForTimeout(500);
    }],
  };
  const files = [];
  for (const [name, [fragment, colorScheme, shown, before]] of Object.entries(shots)) {
    const { page, context } = await openPage(browser, url + fragment, { viewport: size, colorScheme });
    await page.locator(shown).first().waitFor();
    await before(page);
    const file = join(folder, name);
    await page.screenshot({ path: file });
    optimise(file);
    files.push(file);
    await context.close();
  }
  return files;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [url, folder] = process.argv.slice(2);
  const browser = await openBrowser();
  await takePictures(browser, url, folder);
  await browser.close();
}

// Ten thousand tables, and a partition of a million items: nothing freezes. The tests of CI play the server's part (of a
// healthy server that holds all that), `large.mjs` has it all on a real one.
//
// Limits are of the work of the page's main thread, in processor time: that is what the page adds to every wait, and a
// machine with other work to do shows the same. On a quiet machine the clock is checked, too.
import { assert, eventually, openPage, processor } from "./harness.mjs";

export const TABLES = 10_000;
export const ITEMS = 1_000_000;
/** Milliseconds of work from asking for a page of a thousand rows to its first rows on the screen. */
const FIRST_ROWS = 100;
/** At sixty frames a second there are 16.7 ms for each. */
const FRAME = 16;
/** Whether the machine has nothing else to do, so that waits on the clock are the page's. */
const isQuiet = process.env.KEYLOOM_QUIET === "1";

const S = (text) => ({ S: text });
const rows = (page) => page.getByRole("grid", { name: "Items" }).locator(".body .row:not(.group)");

export const tableName = (n) => `table-${String(n).padStart(5, "0")}`;
export const itemOf = (n) => ({ pk: S("million"), sk: S(String(n).padStart(7, "0")), a: S(`value ${n}`), b: { N: String(n) }, c: S("some more text in the row") });

/** Frames over which work is averaged while rows are scrolled. */
const BATCH = 10;

/** Lengths of the frames that are drawn while something runs, shortest first. */
async function frames(page, run) {
  await page.evaluate(() => {
    globalThis.frames = [];
    let last = performance.now();
    const frame = (now) => {
      globalThis.frames.push(now - last);
      last = now;
      globalThis.watching = requestAnimationFrame(frame);
    };
    globalThis.watching = requestAnimationFrame(frame);
  });
  await run();
  return page.evaluate(() => (cancelAnimationFrame(globalThis.watching), globalThis.frames.sort((a, b) => a - b)));
}

const part = (sorted, share) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);

/** The overview, the list and the palette with so many tables. */
export async function manyTables(browser, url, count) {
  const opened = await openPage(browser, `${url}#/overview`);
  const { page } = opened;
  const work = await processor(page);
  const grid = page.getByRole("grid", { name: "Tables" });
  await grid.locator(".body .row").first().waitFor();
  const spent = {};
  spent.filter = await work(async () => {
    await page.getByLabel("Filter tables").fill(tableName(count - 1));
    await grid.getByText(tableName(count - 1)).waitFor();
  });
  spent.list = await work(async () => {
    await page.goto(`${url}#/data`);
    await page.getByRole("columnheader", { name: `${count.toLocaleString("en-GB")} tables`, exact: true }).waitFor({ timeout: 30_000 });
  });
  assert((await grid.locator(".body .row").count()) < 100, "only rows in sight are drawn");
  spent.palette = await work(async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(tableName(Math.floor(count * 0.7)));
    await page.locator("#palette-list [role=option]").first().waitFor();
  });
  console.log(`        ${count.toLocaleString("en-GB")} tables, work of the page in ms: ${JSON.stringify(spent)}`);
  // The list asks for a hundred pages of names; the palette searches with each of eleven keys.
  for (const [what, most] of Object.entries({ filter: 200, list: 400, palette: 250 })) {
    assert(spent[what] < most, `${what} of ${count} tables: ${spent[what]} ms of work`);
  }
  await opened.context.close();
}

/** From the answer to the first rows on the screen: milliseconds on the clock, and of work. */
async function firstRows(page, work) {
  let clock;
  const worked = await work(async () => {
    clock = await page.evaluate(
      () =>
        new Promise((done) => {
          const original = globalThis.fetch;
          globalThis.fetch = async (...asked) => {
            const response = await original(...asked);
            const text = response.text.bind(response);
            response.text = async () => {
              const said = await text();
              const began = performance.now();
              const look = () => (document.querySelector("[aria-label=Items] .body")?.textContent.includes("value 1000") ? done(performance.now() - began) : requestAnimationFrame(look));
              requestAnimationFrame(look);
              return said;
            };
            return response;
          };
          document.querySelector("[aria-label='Next page']").click();
        }),
    );
  });
  return { clock: Math.round(clock), worked };
}

/** Pages of a thousand rows of the partition `million`, and all of the first hundred thousand. */
export async function manyItems(browser, url, table) {
  const opened = await openPage(browser, `${url}#/data/${table}?pk=million&limit=1000&show=rows`);
  const { page } = opened;
  await rows(page).first().waitFor();
  const first = await firstRows(page, await processor(page));
  console.log(`        first rows of a page of 1,000 after ${first.clock} ms, ${first.worked} ms of work`);
  await page.goto(`${url}#/data/${table}?pk=million&limit=1000&show=rows`);
  await page.reload();
  await rows(page).first().waitFor();
  await page.getByRole("button", { name: "Load all" }).click();
  await eventually("100,000 rows", async () => (await page.locator(".bar .note[aria-live]").textContent())?.startsWith("100,000 rows"), 120_000);
  await page.waitForTimeout(300);
  const grid = page.getByRole("grid", { name: "Items" });
  const work = await processor(page);
  // A wheel that turns fast, and a scroll bar that is dragged: a thousand rows a frame.
  const scroll = async (step) => {
    const perFrame = [];
    const lengths = await frames(page, async () => {
      for (let from = 0; from < 100; from += BATCH) {
        const worked = await work(() =>
          grid.evaluate(
            async (element, [from, count, step]) => {
              for (let n = from; n < from + count; n++) {
                element.scrollTop = n * step;
                await new Promise(requestAnimationFrame);
              }
            },
            [from, BATCH, step],
          ),
        );
        perFrame.push(worked / BATCH);
      }
    });
    return { lengths, worst: Math.round(Math.max(...perFrame) * 10) / 10 };
  };
  const [wheeled, dragged] = [await scroll(400), await scroll(26_000)];
  assert((await grid.locator(".body .row").count()) < 120, "only rows in sight are drawn");
  const drawn = await rows(page).first().textContent();
  assert(/\d{5}/.test(drawn ?? ""), `rows are drawn after scrolling: ${drawn}`);
  const told = ({ lengths, worst }) => `${worst} ms of work a frame at most, frames of ${part(lengths, 0.5)} ms in the middle, ${part(lengths, 0.9)} ms at 90 %`;
  console.log(`        100,000 rows under the wheel: ${told(wheeled)}`);
  console.log(`        dragged: ${told(dragged)}`);
  assert(first.worked < FIRST_ROWS, `first rows take ${first.worked} ms of work`);
  assert(wheeled.worst < FRAME, `under the wheel: ${told(wheeled)}`);
  assert(dragged.worst < FRAME, `while it is dragged: ${told(dragged)}`);
  if (isQuiet) {
    assert(first.clock < 200, `first rows after ${first.clock} ms`);
    assert(part(wheeled.lengths, 0.9) < 34, `frames under the wheel: ${told(wheeled)}`);
    assert(part(dragged.lengths, 0.9) < 50, `frames while it is dragged: ${told(dragged)}`);
  }
  await opened.context.close();
}

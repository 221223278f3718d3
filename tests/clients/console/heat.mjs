// The heat map shows what is known: a hot key that moves, and its recording. Data is compared, not pixels.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { assert, equal, eventually, openPage } from "./harness.mjs";
import { knownHeat, start } from "./mock.mjs";

export async function heat(suite, world) {
  const { browser } = world;
  await suite.test("heat: a known moving hot key: colours, hover, keys, zoom, pause", async () => {
    let asked = 0;
    const mock = await start({ upstream: world.api, answers: { "GET /keyloom/api/heat": (query) => (asked++, knownHeat(query)) } });
    const opened = await openPage(browser, `${mock.url}#/heat/tasks?span=3h`, { allowed: [/willReadFrequently/] });
    const { page } = opened;
    const canvas = page.locator(".plane canvas");
    await page.locator(".hot-keys li").first().waitFor();
    // The brightest row of each column is the hot one.
    const drawn = await canvas.evaluate((element) => {
      const context = element.getContext("2d");
      const dark = document.documentElement.dataset.theme === "dark";
      const at = (t, r) => context.getImageData(Math.floor(((t + 0.5) / 90) * element.width), Math.floor(((r + 0.5) / 64) * element.height), 1, 1).data;
      return Array.from({ length: 90 }, (_, t) => {
        const sums = Array.from({ length: 64 }, (_, r) => at(t, r)[1] * (dark ? 1 : -1));
        return sums.indexOf(Math.max(...sums));
      });
    });
    const query = new URLSearchParams({ from: "0", to: "90", table: "tasks" });
    equal(drawn, knownHeat(query).hot.map((hot) => hot.row), "the hottest row of each column");
    // Hover names key, entity, pattern and units.
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + box.width * (4.5 / 90), box.y + box.height * (10.5 / 64));
    const tooltip = page.locator(".tooltip");
    await tooltip.getByText("PROJECT#hot-0").waitFor();
    const said = await tooltip.textContent();
    for (const word of ["900", "units", "Project", "tasks in a project", "partition 1"]) assert(said.includes(word), `${word} in ${said}`);
    equal(await page.locator(".hot-keys li").first().locator(".key").textContent(), "PROJECT#hot-0", "the hottest key");
    equal(await page.locator(".partitions > div").count(), 4, "partitions");
    // Zoom by dragging; the address says what is in sight.
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5, { steps: 3 });
    await page.mouse.up();
    await eventually("zoomed", async () => /from=\d+/.test(page.url()) && /rows=10-3\d/.test(page.url()));
    await page.getByRole("button", { name: "Whole map" }).click();
    await eventually("whole", async () => !/from=/.test(page.url()));
    await page.getByRole("button", { name: "Pause" }).click();
    await page.waitForTimeout(300);
    const before = asked;
    await page.waitForTimeout(2600);
    equal(asked, before, "questions while it is paused");
    for (const [tab, text] of [["3 days", "span=3d"], ["Writes", "what=writes"], ["Refused", "what=refused"]]) {
      await page.getByRole("tab", { name: tab, exact: true }).click();
      await eventually(tab, async () => page.url().includes(text));
    }
    // By keyboard.
    await canvas.focus();
    await page.keyboard.press("ArrowLeft");
    await tooltip.waitFor();
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
    mock.close();
  });

  await suite.test("heat: the real server's busy key is on top, and in its recording", async () => {
    const opened = await openPage(browser, `${world.url}#/heat/tasks?span=15m`);
    const { page } = opened;
    await eventually("the busy project", async () => (await page.locator(".hot-keys li .key").first().textContent()) === world.busy.S, 20_000);
    const file = join(world.scratch, "recording.json");
    execFileSync(world.binary, ["doctor", "--endpoint", world.api.replace(/\/$/, ""), "--save", file]);
    await page.locator("input[type=file]").setInputFiles(file);
    await page.getByText("recording.json").waitFor();
    await eventually("the busy project in the recording", async () => (await page.locator(".hot-keys li .key").first().textContent()) === world.busy.S);
    await page.getByRole("button", { name: "Close the recording" }).click();
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
  });
}

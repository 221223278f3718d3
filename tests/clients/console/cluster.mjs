// The overview of servers that share a store: `node cluster.mjs PICTURES URL OTHER…`, of which the first shows the page.
// crates/cli/tests/cluster starts them on a PostgreSQL.
import { equal, eventually, inaccessible, openBrowser, openPage, Suite } from "./harness.mjs";

const [pictures, ...addresses] = process.argv.slice(2);
const suite = new Suite(pictures, []);
const browser = await openBrowser();

await suite.test("cluster: every server, its state and its jobs", async () => {
  const { page, context, problems } = await openPage(browser, `${addresses[0]}/keyloom/#/overview`);
  const servers = page.locator(".panel", { has: page.getByRole("heading", { name: "Servers" }) }).locator("tbody tr");
  const shows = (rows, address) => rows.some((row) => row.includes(new URL(address).host) && row.includes("alive"));
  await eventually("all servers, alive", async () => {
    const rows = await servers.allTextContents();
    return rows.length === addresses.length && addresses.every((address) => shows(rows, address));
  }, 30_000);
  // A job has one holder.
  const jobs = async () => (await servers.locator("td:last-child").allTextContents()).flatMap((cell) => (cell === "–" ? [] : cell.split(", ")));
  await eventually("a server has a job", async () => (await jobs()).length > 0, 30_000);
  const held = await jobs();
  equal([...new Set(held)], held, "jobs, each once");
  await page.getByRole("grid", { name: "Tables" }).getByText("Orders").waitFor();
  equal(await inaccessible(page), [], "accessibility");
  await page.screenshot({ path: suite.picture("cluster"), fullPage: true });
  equal(problems, [], "problems of the page");
  await context.close();
});
await browser.close();
process.exit(suite.failed.length ? 1 : 0);

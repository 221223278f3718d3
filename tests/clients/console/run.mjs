// The console's tests in a real browser: `node run.mjs KEYLOOM PICTURES [NAME…]`. Exits with 1 if any fails.
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execFileSync } from "node:child_process";
import { items, load, traffic } from "./demo-data.mjs";
import { errors } from "./errors.mjs";
import { flows } from "./flows.mjs";
import { heat } from "./heat.mjs";
import { keyloom, openBrowser, stopAll, Suite } from "./harness.mjs";
import { hostile } from "./hostile.mjs";
import { pages } from "./pages.mjs";
import { start as startMock } from "./mock.mjs";

const [binary, pictures, ...only] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "keyloom-console-"));
const suite = new Suite(pictures, only);

async function world() {
  const designFile = join(scratch, "tasks.toml");
  copyFileSync(join(here, "../../../examples/designs/tasks.toml"), designFile);
  const server = await keyloom(binary, ["serve", "--memory", "--port", "0", "--design", designFile]);
  const api = `${server.address}/`;
  execFileSync(binary, ["deploy", "--to", server.address, designFile]);
  const all = items();
  await load(api, "tasks", all);
  await traffic(api, 60);
  const tasks = all.filter((item) => item.entity.S === "Task");
  // The page as it is in the tree, for a server that was built with another.
  const mock = process.env.CONSOLE_DIST ? await startMock({ upstream: api }) : null;
  return {
    binary,
    scratch,
    api,
    designFile,
    designText: readFileSync(designFile, "utf8"),
    design: "tasks",
    url: mock?.url ?? `${server.address}/keyloom/`,
    busy: tasks[0].PK,
    someTask: { PK: tasks[0].PK, SK: tasks[0].SK },
    browser: await openBrowser(),
  };
}

try {
  const made = await world();
  await pages(suite, made);
  await flows(suite, made);
  await errors(suite, made);
  await hostile(suite, made);
  await heat(suite, made);
  await made.browser.close();
} finally {
  stopAll();
  rmSync(scratch, { recursive: true, force: true });
}
if (suite.failed.length) console.log(`${suite.failed.length} failed: ${suite.failed.join(", ")}`);
process.exit(suite.failed.length ? 1 : 0);

// The console's tests in a real browser: `node run.mjs KEYLOOM PICTURES [NAME…]`. Exits with 1 if any fails.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execFileSync } from "node:child_process";
import { items, load, traffic } from "./demo-data.mjs";
import { errors } from "./errors.mjs";
import { flows } from "./flows.mjs";
import { heat } from "./heat.mjs";
import { assert, equal, keyloom, openBrowser, stopAll, Suite } from "./harness.mjs";
import { hostile } from "./hostile.mjs";
import { newDesign } from "./new.mjs";
import { others } from "./others.mjs";
import { pages } from "./pages.mjs";
import { takePictures } from "./pictures.mjs";
import { start as startMock } from "./mock.mjs";

const [binary, pictures, ...only] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "keyloom-console-"));
const suite = new Suite(pictures, only);
/** Of a picture on a page that many open. */
const MOST_BYTES = 200_000;

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

/** The README's pictures: made of the demo as it is, with a palette, small, and of the size of those in the tree. */
async function readme(made) {
  await suite.test("pictures of the README", async () => {
    const demo = await keyloom(binary, ["demo", "--serve", "--port", "0"]);
    const folder = join(pictures, "readme");
    mkdirSync(folder, { recursive: true });
    for (const file of await takePictures(made.browser, `${demo.address}/keyloom/`, folder)) {
      const [now, kept] = [file, join(here, "../../../docs/images", basename(file))].map((path) => readFileSync(path));
      // The head of a PNG: width, height, bits, and the kind of colours, of which 3 is a palette.
      const head = (bytes) => [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[24], bytes[25]];
      equal(head(now), head(kept), `size and colours of ${basename(file)}`);
      assert(now.length < MOST_BYTES && kept.length < MOST_BYTES, `${basename(file)} has ${now.length} bytes, ${kept.length} in the tree`);
    }
    await demo.stop();
  });
}

try {
  const made = await world();
  // Flows and others paste, and there is one clipboard.
  await Promise.all([pages(suite, made), flows(suite, made).then(() => others(suite, made))]);
  await newDesign(suite, made);
  await errors(suite, made);
  await hostile(suite, made);
  await heat(suite, made);
  await readme(made);
  await made.browser.close();
} finally {
  stopAll();
  rmSync(scratch, { recursive: true, force: true });
}
if (suite.failed.length) console.log(`${suite.failed.length} failed: ${suite.failed.join(", ")}`);
process.exit(suite.failed.length ? 1 : 0);

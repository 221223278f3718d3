// Every page once in Firefox, by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/): Playwright drives only a Firefox
// of its own. Needs Debian's firefox-esr and `node --experimental-websocket` before Node 22.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { equal, eventually } from "./harness.mjs";
import { addresses } from "./pages.mjs";

export const PROGRAM = "/usr/bin/firefox-esr";

/** A Firefox without a window; `send` asks it something, `problems` are what pages complained about. */
async function start() {
  const profile = mkdtempSync(join(tmpdir(), "keyloom-firefox-"));
  const child = spawn(PROGRAM, ["--headless", "--remote-debugging-port", "0", "--profile", profile], { stdio: ["ignore", "ignore", "pipe"] });
  const address = await new Promise((done, failed) => {
    let said = "";
    const timer = setTimeout(() => failed(new Error(`Firefox does not start:\n${said}`)), 60_000);
    child.stderr.on("data", (text) => {
      said += text;
      const found = /WebDriver BiDi listening on (ws:\S+)/.exec(said);
      if (found) (clearTimeout(timer), done(found[1]));
    });
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((done, failed) => ((socket.onopen = done), (socket.onerror = failed)));
  const [waiting, problems] = [new Map(), []];
  let number = 0;
  socket.onmessage = ({ data }) => {
    const said = JSON.parse(data);
    if (said.method === "log.entryAdded" && ["error", "warn"].includes(said.params.level)) problems.push(said.params.text);
    const asked = waiting.get(said.id);
    if (said.type === "success") asked?.done(said.result);
    if (said.type === "error") asked?.failed(new Error(`${said.error}: ${said.message}`));
    waiting.delete(said.id);
  };
  const send = (method, params = {}) =>
    new Promise((done, failed) => {
      waiting.set(++number, { done, failed });
      socket.send(JSON.stringify({ id: number, method, params }));
    });
  const stop = async () => {
    const ended = new Promise((done) => child.on("exit", done));
    child.kill("SIGTERM");
    await ended;
    rmSync(profile, { recursive: true, force: true });
  };
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded"] });
  return { send, problems, stop };
}

/** Whether something is drawn, also inside the editors, which are in shadow trees. */
function isShown(selector) {
  const roots = [document];
  for (const root of roots) {
    for (const one of root.querySelectorAll("*")) {
      if (one.shadowRoot) roots.push(one.shadowRoot);
    }
    if ([...root.querySelectorAll(selector)].some((one) => one.getClientRects().length > 0)) return true;
  }
  return false;
}

export async function firefox(suite, world) {
  const browser = await start();
  try {
    const { contexts } = await browser.send("browsingContext.getTree");
    const context = contexts[0].context;
    await browser.send("browsingContext.setViewport", { context, viewport: { width: 1280, height: 800 } });
    const evaluate = async (expression) => (await browser.send("script.evaluate", { expression, target: { context }, awaitPromise: true })).result?.value;
    for (const [name, [fragment, shown]] of Object.entries(addresses(world))) {
      await suite.test(`firefox ${name}`, async () => {
        browser.problems.length = 0;
        await browser.send("browsingContext.navigate", { context, url: "about:blank", wait: "complete" });
        await browser.send("browsingContext.navigate", { context, url: world.url + fragment, wait: "complete" });
        await eventually(`${shown} is shown`, () => evaluate(`(${isShown})(${JSON.stringify(shown)})`), 20_000);
        equal(await evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0, "pixels beyond the edge");
        await new Promise((done) => setTimeout(done, 300));
        const { data } = await browser.send("browsingContext.captureScreenshot", { context });
        writeFileSync(suite.picture(`firefox-${name}`), Buffer.from(data, "base64"));
        equal(browser.problems, [], "problems of the page");
      });
    }
  } finally {
    await browser.stop();
  }
}

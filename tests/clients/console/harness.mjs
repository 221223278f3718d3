// What the console's tests share: servers, a browser, and how a test is run and told.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const started = [];

/** Starts `keyloom serve` or another command that prints its address; resolves with it. */
export async function keyloom(binary, words, pattern = /(https?:\/\/[\w.:[\]-]+)/) {
  const child = spawn(binary, words, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } });
  started.push(child);
  let said = "";
  const address = await new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`${words.join(" ")} does not start:\n${said}`)), 60_000);
    const hear = (text) => {
      said += text;
      const found = pattern.exec(said);
      if (found) (clearTimeout(timer), done(found[1]));
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => failed(new Error(`${words.join(" ")} ended with ${code}:\n${said}`)));
  });
  const stop = () =>
    new Promise((done) => {
      if (child.exitCode !== null || child.signalCode !== null) return done();
      child.on("exit", done);
      child.kill("SIGKILL");
    });
  return { address: address.replace(/[/.]+$/, ""), stop, said: () => said };
}

export function stopAll() {
  for (const child of started) if (child.exitCode === null) child.kill("SIGKILL");
}

/** A browser whose pages report everything that must not happen. */
export async function openBrowser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

/** A page of its own; `problems` collects errors, refusals of the policy and requests to other hosts. */
export async function openPage(browser, url, options = {}) {
  const { allowed = [], ...settings } = options;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...settings });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const problems = [];
  const isAllowed = (text) => allowed.some((pattern) => pattern.test(text));
  page.on("pageerror", (error) => problems.push(`error: ${error.stack}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !isAllowed(message.text())) problems.push(message.text());
  });
  page.on("dialog", (dialog) => (problems.push(`dialog: ${dialog.message()}`), void dialog.dismiss()));
  page.on("request", (request) => {
    const asked = new URL(request.url());
    if (!["data:", "blob:"].includes(asked.protocol) && asked.host !== new URL(url).host) problems.push(`request to ${asked.host}`);
  });
  await page.goto(url);
  return { page, context, problems };
}

/** Serious accessibility findings of what is shown; by some rules only, if they are given. */
export async function inaccessible(page, rules = null) {
  await page.evaluate(axeSource);
  return page.evaluate(async (rules) => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) });
    return violations
      .filter((one) => ["serious", "critical"].includes(one.impact))
      .map((one) => `${one.id}: ${one.help}\n${one.nodes.slice(0, 4).map((node) => `    ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`).join("\n")}`);
  }, rules);
}

/** What is wrong for whoever has only a keyboard: stops that cannot be seen, and one that does not let go. */
export async function unreachable(page, most = 120) {
  const remember = () => {
    globalThis.lastStop = globalThis.focused();
  };
  await page.evaluate(() => {
    globalThis.focused = () => {
      let at = document.activeElement;
      while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
      return at;
    };
  });
  const stop = () => {
    const at = globalThis.focused();
    if (!at || at === document.body) return null;
    const isMarked = (element) => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
      return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
    };
    let seen = false;
    for (let [one, n] = [at, 0]; one && n < 4; n++) {
      seen ||= isMarked(one);
      one = one.parentElement ?? one.getRootNode().host;
    }
    const words = (at.getAttribute("aria-label") || at.textContent || "").trim().slice(0, 40);
    return { what: `${at.tagName.toLowerCase()} "${words}"`, seen, isSame: at === globalThis.lastStop };
  };
  await page.evaluate(() => document.activeElement?.blur());
  const wrong = [];
  for (let n = 0; n < most; n++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(stop);
    if (!at) return wrong;
    if (at.isSame) return [...wrong, `${at.what} does not let go`];
    // An editor marks itself a moment later.
    if (!at.seen) await page.waitForTimeout(50);
    if (!at.seen && !(await page.evaluate(stop))?.seen) wrong.push(`${at.what} is not seen to have the focus`);
    await page.evaluate(remember);
  }
  return wrong;
}

/** Measures what the page's main thread works, in milliseconds of processor time: other programs on the machine do not count. */
export async function processor(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  };
  return async (run) => {
    const before = await spent();
    await run();
    return Math.round(((await spent()) - before) * 10) / 10;
  };
}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

export function equal(actual, expected, what) {
  const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== e) throw new Error(`${what}: ${a} instead of ${e}`);
}

/** Waits until something is true. */
export async function eventually(what, test, ms = 10_000) {
  const end = Date.now() + ms;
  for (;;) {
    if (await test()) return;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Runs tests one after another; with words on the command line, only those whose names contain one. */
export class Suite {
  constructor(folder, only) {
    this.folder = folder;
    this.only = only;
    this.failed = [];
    mkdirSync(folder, { recursive: true });
  }
  picture(name) {
    return join(this.folder, `${name}.png`);
  }
  async test(name, run) {
    if (this.only.length && !this.only.some((word) => name.includes(word))) return;
    const began = performance.now();
    try {
      await run();
      console.log(`ok      ${name} (${Math.round(performance.now() - began)} ms)`);
    } catch (error) {
      this.failed.push(name);
      console.log(`FAILED  ${name}\n${error.stack}`);
    }
  }
}

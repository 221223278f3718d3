// Servers for tests: one in memory on a free port, and forks of it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { findKeyloom } from "./index.js";

class Endpoint {
  constructor(url) {
    this.url = url;
  }

  /** The configuration of a client of the AWS SDK. */
  clientConfig() {
    return {
      endpoint: this.url,
      region: "us-east-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    };
  }

  /** An independent copy of what is there now, on a port of its own. */
  async fork() {
    const { endpoint } = await ask("POST", this.url);
    return new Fork(endpoint);
  }
}

class Fork extends Endpoint {
  /** Ends the fork. */
  async close() {
    await ask("DELETE", this.url);
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }
}

class Server extends Endpoint {
  #child;

  constructor(url, child) {
    super(url);
    this.#child = child;
  }

  /** Ends the server, and with it its forks. */
  async close() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }
}

/** Starts a server in memory on a free port; `options` are further options of `keyloom serve`. */
export async function startServer(options = []) {
  const line = ["serve", "--memory", "--port", "0", ...options];
  const child = spawn(findKeyloom(), line, { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (data) => (errors += data));
  const url = await new Promise((resolve, reject) => {
    const fail = (reason) => reject(new Error(`keyloom ${line.join(" ")} did not start: ${reason}`));
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(errors.trim() || `exit code ${code}`));
    createInterface({ input: child.stdout }).on("line", (text) => {
      const found = text.match(/https?:\/\/\S+/);
      if (found) resolve(found[0]);
    });
  });
  // Neither the process nor its pipes keep a finished test run alive.
  child.unref();
  child.stdout.unref();
  child.stderr.unref();
  const end = () => child.kill("SIGTERM");
  process.once("exit", end);
  child.once("exit", () => process.removeListener("exit", end));
  return new Server(url, child);
}

async function ask(method, url) {
  const answer = await fetch(`${url}/keyloom/fork`, { method });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}/keyloom/fork: ${text.trim()}`);
  return JSON.parse(text);
}

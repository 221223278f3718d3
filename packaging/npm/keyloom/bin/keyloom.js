#!/usr/bin/env node
// Runs the command with the same streams, and ends as it ends.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findKeyloom } from "../index.js";

let path;
try {
  path = findKeyloom();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both; others send signals to this process only.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
// npx does not pass on the signal that ends it: then the command ends when npx is gone.
if (process.env.npm_command === "exec") {
  const parent = process.ppid;
  const look = () => process.ppid !== parent && child.kill("SIGTERM");
  setInterval(look, 200).unref();
}
child.on("error", (error) => {
  console.error(`${path}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});

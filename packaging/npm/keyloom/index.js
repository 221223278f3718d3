// Finds the command: it comes in a package for this system, which npm chooses.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** The path of the command `keyloom`; the environment variable KEYLOOM names another one. */
export function findKeyloom() {
  if (process.env.KEYLOOM) return process.env.KEYLOOM;
  const system = `${process.platform}-${process.arch}`;
  const name = process.platform === "win32" ? "keyloom.exe" : "keyloom";
  let path;
  try {
    path = require.resolve(`@keyloom/${system}/${name}`);
  } catch {
    throw new Error(
      `keyloom has no binary for ${system}, or its package @keyloom/${system} was left out of the installation ` +
        "(--omit=optional?). Build it with `cargo install keyloom-cli` and set KEYLOOM to its path.",
    );
  }
  if (!existsSync(path)) throw new Error(`${path} is missing: install keyloom again`);
  return path;
}

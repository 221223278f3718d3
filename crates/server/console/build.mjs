// Builds dist/ from src/: `npm ci && node build.mjs`. The output is in the tree, so that building and running Keyloom
// takes no Node; a test (crates/cli/tests/console.rs) builds it again elsewhere (`node build.mjs DIR`) and compares.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const dist = resolve(process.argv[2] ?? join(here, "dist"));
const assets = join(dist, "assets");
rmSync(dist, { recursive: true, force: true });
mkdirSync(assets, { recursive: true });

const result = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: assets,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  minify: true,
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  metafile: true,
  logLevel: "warning",
});

const icon = readFileSync(join(here, "src/icon.svg"));
const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8).toUpperCase()}.svg`;
writeFileSync(join(assets, iconName), icon);

const entry = Object.entries(result.metafile.outputs).find(
  ([, output]) => output.entryPoint === "src/main.tsx",
);
const page = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("{{script}}", `assets/${basename(entry[0])}`)
  .replace("{{style}}", `assets/${basename(entry[1].cssBundle)}`)
  .replace("{{icon}}", `assets/${iconName}`);
writeFileSync(join(dist, "index.html"), page);
writeFileSync(join(assets, "licences.txt"), licences(Object.keys(result.metafile.inputs)));

const MOST_COMPRESSED = 400 * 1024;
const compressed = readdirSync(assets).reduce(
  (sum, name) => sum + gzipSync(readFileSync(join(assets, name))).length,
  0,
);
if (compressed > MOST_COMPRESSED)
  throw new Error(`${compressed} bytes compressed, more than ${MOST_COMPRESSED}`);

/** The notices of every package whose code is in the output. */
function licences(inputs) {
  const packages = new Set();
  for (const input of inputs) {
    const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const notices = [...packages].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (!file) throw new Error(`${name} comes without a licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `Third-party code in the console of Keyloom.\n\n${notices.join(`\n${"-".repeat(78)}\n\n`)}`;
}

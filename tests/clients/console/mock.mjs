// In front of a real Keyloom: the page as it is in the tree, and answers that a test chooses instead of the server's. For
// what a healthy server does not do on demand (errors, conflicts, a known heat map), and for work on the page without
// building the server anew: `node mock.mjs http://127.0.0.1:8000/ 8080`.
import { readFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "../../../crates/server/console/dist");
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8" };

/** A known heat: one hot row that moves down by a row every eight columns. */
export function knownHeat(query) {
  const columns = 90, rows = 64, step = (Number(query.get("to")) - Number(query.get("from"))) / columns;
  const cells = Array.from({ length: columns }, (_, t) => Array.from({ length: rows }, (_, r) => (r === (10 + Math.floor(t / 8)) % rows ? 900 : (t * 7 + r * 13) % 11 ? 2 : 25)));
  const hot = cells.map((column, t) => ({ column: t, row: (10 + Math.floor(t / 8)) % rows, key: `PROJECT#hot-${Math.floor(t / 8)}`, units: 900, entity: "Project", pattern: "tasks in a project" }));
  return {
    table: query.get("table"), index: query.get("index"), start: Number(query.get("from")), step, columns, rows, cells, hot,
    keys: Array.from({ length: 12 }, (_, n) => ({ key: `PROJECT#hot-${n}`, entity: "Project", pattern: "tasks in a project", row: 10 + n, reads: 7200 - n * 300, writes: 100, refused: 0 })),
    partitions: [0, 0.25, 0.5, 0.75].map((from, n) => ({ from, to: from + 0.25, reads: 100 * n, writes: 10, bytes: 1e9 })),
  };
}

const body = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
};

/** Starts it; `answers` (by "METHOD /path" or "POST Operation") come before what the server says. */
export async function start({ upstream, answers = {}, port = 0 }) {
  const forward = async (request, response, sent) => {
    const headers = { ...request.headers };
    for (const name of ["host", "connection", "content-length", "origin", "referer"]) delete headers[name];
    const answer = await fetch(new URL(request.url, upstream), { method: request.method, headers, body: request.method === "GET" ? undefined : sent });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://mock");
    const sent = await body(request);
    const json = (status, value) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    try {
      const target = request.headers["x-amz-target"]?.split(".")[1];
      const chosen = answers[target ? `POST ${target}` : `${request.method} ${decodeURIComponent(url.pathname)}`];
      const answer = typeof chosen === "function" ? await chosen(url.searchParams, sent.toString()) : chosen;
      if (answer !== undefined && answer !== null) return json(answer.status ?? 200, answer.body ?? answer);
      const file = join(dist, url.pathname === "/keyloom/" ? "index.html" : url.pathname.replace(/^\/keyloom\//, ""));
      if (!url.pathname.startsWith("/keyloom/") || !file.startsWith(dist) || !existsSync(file)) return await forward(request, response, sent);
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": CSP, "x-content-type-options": "nosniff" });
      response.end(readFileSync(file));
    } catch (error) {
      json(500, { error: "Mock", message: String(error) });
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const close = () => (server.closeAllConnections(), server.close());
  return { url: `http://127.0.0.1:${server.address().port}/keyloom/`, close };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [upstream, port] = process.argv.slice(2);
  console.log((await start({ upstream, port: Number(port) })).url);
}

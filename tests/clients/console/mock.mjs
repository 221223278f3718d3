// A stand-in for the console's API, in front of a real Keyloom: the finished page with answers that a test chooses.
// Tests of what a healthy server never does (errors, ten thousand tables, a known heat map) use it.
import { execFileSync } from "node:child_process";
import { readFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "../../../crates/server/console/dist");
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8" };

/** A design as the API tells it, from its file and `keyloom check`. */
export function designJson(keyloom, file) {
  const text = readFileSync(file, "utf8");
  const toml = JSON.parse(execFileSync("python3", ["-c", "import sys,tomllib,json;json.dump(tomllib.load(open(sys.argv[1],'rb')),sys.stdout)", file], { encoding: "utf8" }));
  const checked = JSON.parse(execFileSync(keyloom, ["check", "--format", "json", file], { encoding: "utf8", maxBuffer: 1e8 }));
  const tables = Object.entries(toml.table).map(([name, table]) => ({
    name, partitionKey: table.partition_key, sortKey: table.sort_key ?? null, billing: "on-demand", ttl: null,
    indexes: Object.entries(table.index ?? {}).map(([index, of]) => ({ name: index, local: false, partitionKey: [of.partition_key].flat(), sortKey: [of.sort_key].flat(), projection: "ALL" })),
  }));
  const keys = new Set(tables.flatMap((t) => [t.partitionKey, t.sortKey, ...t.indexes.flatMap((i) => [...i.partitionKey, ...i.sortKey])]));
  const entities = Object.entries(toml.entity).map(([name, entity]) => ({
    name, table: tables[0].name, count: entity.count ?? null, size: null,
    fields: Object.entries(entity.fields ?? {}).map(([field, of]) => ({ name: field, type: of.type ?? of, values: of.values, max: of.max })),
    keys: Object.entries(entity).filter(([attribute]) => keys.has(attribute)).map(([attribute, of]) => {
      const template = of.template ?? of;
      const pieces = template.split(/(\{[^}]*\})/).filter(Boolean).map((part) => (part[0] === "{" ? { field: part.slice(1, -1).split(":")[0] } : { literal: part }));
      return { attribute, template, pieces, when: of.when ?? null };
    }),
  }));
  const patterns = checked.patterns.map((pattern) => {
    const access = toml.access[pattern.name] ?? {};
    return {
      name: pattern.name, find: [access.find].flat(), where: access.where ?? null, order: access.order ?? null, limit: access.limit ?? null,
      inputs: pattern.inputs.map((field) => ({ field, op: "=", type: "text" })), verdict: pattern.verdict, places: pattern.indexes,
      cost: { ru: pattern.read_units, monthly: pattern.monthly_cost?.on_demand ?? null },
      proofs: Object.entries(pattern.proofs).map(([claim, status]) => ({ claim, status })), requests: pattern.requests, rejected: pattern.rejected,
    };
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 120"><rect width="400" height="120" fill="#fff"/><text x="20" y="60">${toml.design.name}</text></svg>`;
  return { name: toml.design.name, file, writable: true, text, tables, entities, patterns, findings: [], diagrams: { er: svg, keyMap: svg } };
}

function recognised(design, item) {
  for (const entity of design.entities) {
    const keys = [];
    let fits = true;
    for (const key of entity.keys) {
      const value = item[key.attribute]?.S;
      if (value === undefined) { fits &&= key.when != null; continue; }
      const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const matched = new RegExp(`^${key.pieces.map((p) => (p.literal ? `(${escape(p.literal)})` : "(.+?)")).join("")}$`).exec(value);
      if (!matched) { fits = false; break; }
      keys.push({ attribute: key.attribute, parts: key.pieces.map((p, n) => (p.literal ? { text: matched[n + 1], literal: true } : { text: matched[n + 1], field: p.field })) });
    }
    if (!fits) continue;
    const references = [];
    for (const other of design.entities) {
      const base = other.keys.filter((key) => key.attribute === "PK" || key.attribute === "SK");
      const needed = base.flatMap((key) => key.pieces.filter((p) => p.field).map((p) => p.field));
      if (other === entity || needed.length !== 1 || !item[needed[0]]) continue;
      const build = (key) => ({ S: key.pieces.map((p) => p.literal ?? item[p.field].S).join("") });
      references.push({ field: needed[0], entity: other.name, key: Object.fromEntries(base.map((key) => [key.attribute, build(key)])) });
    }
    return { entity: entity.name, fields: {}, keys, references, problems: [] };
  }
  return { entity: null, fields: {}, keys: [], references: [], problems: ["This item is of no entity of the design."] };
}

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

/** Starts it; `answers` (by "METHOD /path") come before its own. */
export async function start({ upstream, keyloom, design, port = 0, answers = {}, info = {} }) {
  const known = design ? designJson(keyloom, design) : null;
  const forward = async (request, response, sent) => {
    const headers = { ...request.headers };
    for (const name of ["host", "connection", "content-length", "origin", "referer"]) delete headers[name];
    const answer = await fetch(new URL(request.url, upstream), { method: request.method, headers, body: request.method === "GET" ? undefined : sent });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  };
  const own = {
    "GET info": () => ({ version: "mock", mode: "server", region: "us-east-1", signing: "none", readOnly: false, throttle: "observe", designs: known ? [known.name] : [], features: { heat: true, doctor: true, simulate: true, migrate: true, stats: true }, ...info }),
    "GET tables": async (query) => {
      const stats = await (await fetch(new URL("/keyloom/stats", upstream))).json();
      const tables = stats.tables.filter((t) => t.name.includes(query.get("contains") ?? "")).map((t) => ({ name: t.name, status: "ACTIVE", items: t.items, bytes: t.bytes, billing: "on demand", partitionKey: "PK", sortKey: "SK", indexes: t.indexes.map((i) => ({ ...i, partitionKey: [], sortKey: [] })) }));
      return { tables, total: tables.length };
    },
    "GET doctor": () => JSON.parse(execFileSync(keyloom, ["doctor", "--endpoint", upstream, "--design", design, "--format", "json"], { encoding: "utf8", maxBuffer: 1e8 })),
    "GET heat": (query) => knownHeat(query),
    "GET migrations": () => [],
    "POST simulate": (_, sent) => {
      const asked = JSON.parse(sent);
      return JSON.parse(execFileSync(keyloom, ["simulate", "--format", "json", "--scale", asked.scale.join(","), "--profile", asked.profile ?? "constant", design], { encoding: "utf8", maxBuffer: 1e8 }));
    },
  };
  const ofDesign = async (method, rest, sent) => {
    if (method === "GET" || method === "PUT") return known;
    if (rest === "check") return { ...known, text: JSON.parse(sent).text };
    if (rest === "recognize") return JSON.parse(sent).items.map((item) => recognised(known, item));
    const asked = JSON.parse(sent);
    const pattern = known.patterns.find((p) => p.name === asked.pattern);
    const fill = (text) => text.replace(/\{(\w+)\}/g, (_, field) => asked.inputs[field] ?? "");
    const requests = pattern.requests.map((r) => ({ operation: r.operation, body: JSON.parse(fill(JSON.stringify(r.body))) }));
    const rows = [];
    for (const r of requests.slice(0, 1)) {
      const answer = await (await fetch(upstream, { method: "POST", headers: { "x-amz-target": `DynamoDB_20120810.${r.operation}`, "content-type": "application/x-amz-json-1.0" }, body: JSON.stringify(r.body) })).json();
      for (const item of answer.Items ?? (answer.Item ? [answer.Item] : [])) rows.push({ entity: recognised(known, item).entity, item });
    }
    return { requests, rows, units: rows.length * 0.5, ms: 3 };
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://mock");
    const sent = await body(request);
    const json = (status, value) => { response.writeHead(status, { "content-type": "application/json" }); response.end(JSON.stringify(value)); };
    try {
      const target = request.headers["x-amz-target"]?.split(".")[1];
      const chosen = answers[target ? `POST ${target}` : `${request.method} ${decodeURIComponent(url.pathname)}`];
      const answer = typeof chosen === "function" ? await chosen(url.searchParams, sent.toString()) : chosen;
      if (answer !== undefined && answer !== null) return json(answer.status ?? 200, answer.body ?? answer);
      if (url.pathname === "/" || url.pathname === "/keyloom/stats") return await forward(request, response, sent);
      const api = /^\/keyloom\/api\/(.*)$/.exec(url.pathname)?.[1];
      if (api !== undefined) {
        const [first, , rest] = api.split("/");
        if (first === "designs") return json(200, await ofDesign(request.method, rest, sent.toString()));
        const make = own[`${request.method} ${first}`];
        return make ? json(200, await make(url.searchParams, sent.toString())) : json(404, { error: "NotFound", message: "no such question" });
      }
      const file = join(dist, url.pathname === "/keyloom/" ? "index.html" : url.pathname.replace(/^\/keyloom\//, ""));
      if (!file.startsWith(dist) || !existsSync(file)) return json(404, { error: "NotFound", message: "not here" });
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": CSP, "x-content-type-options": "nosniff" });
      response.end(readFileSync(file));
    } catch (error) {
      json(500, { error: "Mock", message: String(error) });
    }
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/keyloom/`, close: () => { server.closeAllConnections(); server.close(); } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [upstream, keyloom, design, port] = process.argv.slice(2);
  console.log((await start({ upstream, keyloom, design, port: Number(port) })).url);
}

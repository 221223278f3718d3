// The console's JSON API (docs: `docs/console.md`): the design, its plans, and what the server has seen.
import { ask, askJson, Refusal } from "./http";
import { bytes } from "../values/attribute";
import type { Item } from "../values/attribute";
import { pieces, type Rows } from "../values/pieces";

export interface Info {
  version: string;
  mode: "server" | "console";
  endpoint?: string;
  region: string;
  readOnly?: boolean;
  signing: "none" | "required" | "proxy";
  throttle?: string;
  designs?: string[];
  features?: Partial<
    Record<"heat" | "doctor" | "simulate" | "migrate" | "cluster" | "stats" | "transfer", boolean>
  >;
}

export interface Field {
  name: string;
  type: string;
  values?: string[] | null;
  max?: number | null;
  references?: { entity: string; field: string } | null;
}

export type Piece = { literal: string } | { field: string; format?: string };

export interface Entity {
  name: string;
  table: string;
  fields: Field[];
  keys: { attribute: string; template: string; pieces: Piece[]; when?: string | null }[];
  count?: number | null;
  size?: number | null;
}

export interface DesignIndex {
  name: string;
  local: boolean;
  partitionKey: string[];
  sortKey: string[];
  projection: string;
}

export interface DesignTable {
  name: string;
  partitionKey: string;
  sortKey: string | null;
  indexes: DesignIndex[];
  ttl?: string | null;
  billing?: string | null;
}

export interface PatternInput {
  /** What it is called in a call; a field that is asked for twice has two inputs. */
  name: string;
  field: string;
  op?: string;
  type?: string;
  values?: string[] | null;
}

export interface Pattern {
  name: string;
  find: string[];
  where?: string | null;
  inputs: PatternInput[];
  order?: string | null;
  limit?: number | null;
  verdict: string;
  places: string[];
  cost?: { ru?: number | null };
  monthly_cost?: { on_demand: number; provisioned: number } | null;
  table?: string | null;
  via?: string | null;
  counter_example?: unknown;
  proofs: { claim: string; status: string; reason?: string | null }[];
  requests: { operation: string; body: unknown }[];
  rejected?: { index: string; reason: string }[];
}

export interface Fix {
  title: string;
  advice?: string | null;
  /** The whole new file, where a change was applied and checked. */
  text?: string | null;
}

export interface Finding {
  rule: string;
  level: "error" | "warning" | "info";
  message: string;
  evidence?: string | string[] | null;
  fix?: Fix | null;
  span?: { line: number; column: number; endLine: number; endColumn: number } | null;
}

export interface Design {
  /** What addresses call it. */
  name: string;
  title: string;
  description?: string;
  /** Of the text; a write says which text it replaces. */
  sum: string;
  /** Items made up by the rules of the design, by table. */
  samples?: Record<string, { entity: string; item: Item }[]>;
  file: string | null;
  writable: boolean;
  text: string;
  tables: DesignTable[];
  entities: Entity[];
  patterns: Pattern[];
  findings: Finding[];
  diagrams?: { er?: string; keyMap?: string };
}

export interface KeyPart {
  text: string;
  literal?: boolean;
  field?: string;
}

export interface Recognized {
  entity?: string | null;
  fields?: Record<string, unknown>;
  keys: { attribute: string; parts: KeyPart[] }[];
  references?: { field: string; entity: string; table?: string; key: Item }[];
  problems?: string[];
}

export interface Ran {
  requests: { operation: string; body: unknown }[];
  rows: { entity?: string | null; item: Item; fields?: Record<string, unknown> }[];
  cursor?: unknown;
  units?: number | null;
  proof?: unknown;
  ms?: number;
}

export interface HeatKey {
  key: string;
  entity?: string | null;
  pattern?: string | null;
  row: number;
  reads: number;
  writes: number;
  refused: number;
}

export type Measure = "reads" | "writes" | "refused";

export interface Heat {
  table: string;
  index: string | null;
  start: number;
  step: number;
  columns: number;
  rows: number;
  cells: number[][];
  keys: HeatKey[];
  partitions: {
    from: number;
    to: number;
    reads: number;
    writes: number;
    /** What AWS would have refused, or what was refused. */
    refusedReads?: number;
    refusedWrites?: number;
    bytes?: number | null;
  }[];
  hot: {
    column: number;
    row: number;
    key: string;
    units: number;
    entity?: string | null;
    pattern?: string | null;
  }[];
}

export interface DoctorFinding {
  id: string;
  severity: "error" | "warning" | "info";
  place: string;
  title: string;
  evidence: string[];
  fix?: string | null;
  at_ten?: string | null;
  confidence?: string | null;
  diff?: string | null;
  dollars_per_month?: number | null;
  headroom?: number | null;
  patterns?: string[];
}

const part = encodeURIComponent;
const API = "/keyloom/api";

export const readInfo = () => askJson<Info>(`${API}/info`);
export const readDesign = (name: string) => askJson<Design>(`${API}/designs/${part(name)}`);
export const checkDesign = (name: string, text: string, signal?: AbortSignal) =>
  askJson<Design>(`${API}/designs/${part(name)}/check`, { json: { text }, signal });
export const writeDesign = (name: string, text: string, was: string) =>
  askJson<unknown>(`${API}/designs/${part(name)}`, { method: "PUT", json: { text, was } });
export async function runPattern(
  design: string,
  asked: { pattern: string; inputs: Record<string, string>; limit?: number; cursor?: unknown },
): Promise<Ran> {
  const ran = await askJson<Ran>(`${API}/designs/${part(design)}/run`, { json: asked });
  for (const { item } of ran.rows) Object.setPrototypeOf(item, null);
  return ran;
}
export const recognize = (design: string, table: string, items: Item[], signal?: AbortSignal) =>
  askJson<Recognized[]>(`${API}/designs/${part(design)}/recognize`, { json: { table, items }, signal });
/** The same of an item as one of this entity, with the keys that its fields make; `made` is null where they make none. */
export async function withKeys(
  design: string,
  entity: Entity,
  item: Item,
): Promise<Recognized & { made: Item | null }> {
  const asked = { table: entity.table, entity: entity.name, items: [item] };
  const [told] = await askJson<[Recognized & { made: Item | null }]>(
    `${API}/designs/${part(design)}/recognize`,
    { json: asked },
  );
  if (told.made) Object.setPrototypeOf(told.made, null);
  return told;
}
export interface TableSummary {
  name: string;
  status: string;
  items: number;
  bytes: number;
  billing?: string | null;
  partitionKey: string;
  sortKey?: string | null;
  indexes: (DesignIndex & { status?: string; items?: number; bytes?: number })[];
  stream?: string | null;
  ttl?: string | null;
}

export interface TablePage {
  tables: TableSummary[];
  next?: string | null;
  total?: number | null;
}

export function readTables(
  asked: { from?: string; contains?: string },
  signal?: AbortSignal,
): Promise<TablePage> {
  const query = new URLSearchParams({ limit: "100" });
  if (asked.from) query.set("from", asked.from);
  if (asked.contains) query.set("contains", asked.contains);
  return askJson<TablePage>(`${API}/tables?${query}`, { signal });
}

/** The findings of the server's statistics, or of a recording, if its text is given. */
export const readDoctor = (recorded?: string) =>
  askJson<{ findings: DoctorFinding[] }>(
    `${API}/doctor`,
    recorded === undefined ? {} : { method: "POST", body: recorded },
  );
export const readMigrations = () => askJson<Migration[]>(`${API}/migrations`);

/** How far a migration is, as `keyloom migrate status --format json` says it. */
export interface Migration {
  id: string;
  phase: string;
  side: "old" | "new";
  generation: number;
  now_ms: number;
  started_ms: number;
  seen_ms: number;
  verified_ms: number | null;
  items: number;
  tables: { name: string; items: number; of_items: number; segments_done: number; segments: number }[];
  remaining: number;
  remaining_s: number | null;
  /** What the runner said when it was last heard of; none in its first seconds. */
  runner: {
    items_per_s: number | null;
    changes: number;
    lag_ms: number;
    read_units: number;
    write_units: number;
    problems: number;
  } | null;
}

export interface Cluster {
  round_trip_us: number;
  servers: {
    id: string;
    endpoint: string;
    version: string;
    alive: boolean;
    started_ms: number;
    silent_ms: number;
    epochs_behind: number | null;
  }[];
  jobs: { name: string; holder: string; since_ms: number }[];
}

export const readCluster = () => askJson<Cluster>(`${API}/cluster`);
export const simulate = (asked: unknown) => askJson<Simulation>(`${API}/simulate`, { json: asked });

/** A design from lines that say what is stored, asked and written. */
export const newDesign = (asked: unknown) => askJson<NewDesign>(`${API}/new`, { json: asked });

export interface NewDesign {
  /** What each line makes of the design, or why it cannot be used; `line` counts from 0 among those of its kind. */
  said: { kind: string; line: number; says: string; wrong: boolean }[];
  /** What follows is there if every line can be used: the file with its keys. */
  text?: string;
  design?: Omit<Design, "name" | "file" | "writable" | "sum">;
  indexes?: number;
  dollars_a_month?: number;
  why?: string[];
  refused?: string[];
  proven?: boolean;
  simulation?: Simulation;
}

export interface Simulation {
  design: string;
  minutes: number;
  /** The change that moves the first limit. */
  advice?: { text: string; diff: string[]; before: number; after: number | null; dearer: string[] } | null;
  breaks: { pattern: string; multiple: number | null; reason: string }[];
  cheapest: { from: number; way: string }[];
  left_out: { pattern: string; reason: string }[];
  assumed_even?: string[];
  /** Drawings (SVG) by name. */
  pictures?: Record<string, string>;
  scales: {
    multiple: number;
    bytes: number;
    bottlenecks: unknown[];
    dollars_a_month: Record<string, number>;
    patterns: {
      pattern: string;
      calls_per_second: number;
      refused: number;
      worst_refused: number;
      failed: number;
      added_ms: { p50: number; p99: number };
    }[];
    places: {
      table: string;
      index: string | null;
      partitions: number;
      splits: number;
      hottest: number[];
      peak_units: { read: number; write: number };
    }[];
  }[];
}

/** The heat of a place in a span; of a recording, if its text is given. */
export function readHeat(
  asked: { table: string; index?: string | null; from?: number | null; to?: number | null; what: Measure },
  signal?: AbortSignal,
  recorded?: string,
): Promise<Heat> {
  const query = new URLSearchParams({ table: asked.table, what: asked.what });
  if (asked.from) query.set("from", String(Math.round(asked.from)));
  if (asked.to) query.set("to", String(Math.round(asked.to)));
  if (asked.index) query.set("index", asked.index);
  return askJson<Heat>(
    `${API}/heat?${query}`,
    recorded === undefined ? { signal } : { method: "POST", body: recorded, signal },
  );
}

/** The places whose heat a recording has. */
export const recordedPlaces = (recorded: string) =>
  askJson<{ places: { table: string; index: string | null; from: number; to: number }[] }>(`${API}/heat`, {
    method: "POST",
    body: recorded,
  });

export interface Loaded {
  loaded: number;
  refused: { file?: string; line?: number; reason: string }[];
  refusedCount: number;
  fatal?: string | null;
}

/** How far an import is. */
export interface ImportProgress {
  /** Of the file, from 0 to 1. */
  share: number;
  loaded: number;
}

/** Refused rows that are listed; all are counted. */
const LISTED = 20;

/** How the reason ends for a row after which there is nothing to be made of the file. */
const UNREAD = "the rest of the file is not read";

/** Writes the rows of a file, however long: one request for some megabytes of rows. */
export async function importFile(
  asked: { table: string; format: string; design?: string; entity?: string; name: string },
  file: File,
  told: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<Loaded> {
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
  const sum: Loaded = { loaded: 0, refused: [], refusedCount: 0 };
  let read = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (chunk, out) => ((read += chunk.length), out.enqueue(chunk)),
  });
  let content = file.stream().pipeThrough(counted);
  if (/\.gz$/i.test(asked.name)) {
    content = content.pipeThrough(new DecompressionStream("gzip"));
    query.set("name", asked.name.slice(0, -3));
  }
  // The browser cannot unpack it; the server does, if it is short.
  const isPacked = /\.zst$/i.test(asked.name);
  const rows = isPacked ? packed(file) : pieces(content, asked.format === "csv");
  try {
    for await (const { bytes: body, linesBefore } of rows) {
      const headers = { "content-type": "application/octet-stream" };
      const answer = await ask(`${API}/load?${query}`, { method: "POST", body, headers, signal });
      const { loaded, refused, refusedCount, fatal } = (await answer.json()) as Loaded;
      sum.loaded += loaded;
      sum.refusedCount += refusedCount;
      const placed = refused.map((one) => ({ ...one, line: one.line && one.line + linesBefore }));
      sum.refused = [...sum.refused, ...placed].slice(0, LISTED);
      told({ share: read / Math.max(1, file.size), loaded: sum.loaded });
      if (fatal) return { ...sum, fatal };
      if (refused.some(({ reason }) => reason.endsWith(UNREAD))) return sum;
    }
  } catch (error) {
    if (signal.aborted || (sum.loaded === 0 && error instanceof Refusal)) throw error;
    const reason = error instanceof Refusal ? error.message : `${asked.name} cannot be read to its end`;
    const [code, status] = error instanceof Refusal ? [error.code, error.status] : ["Incomplete", 0];
    const rest = `${sum.loaded} items were written before. Importing the file again gives the same items.`;
    throw new Refusal(code, `${reason.replace(/\.?$/, ".")} ${rest}`, status);
  }
  return sum;
}

/** A file as it is, in one piece. */
async function* packed(file: File): AsyncGenerator<Rows> {
  yield { bytes: new Uint8Array(await file.arrayBuffer()), linesBefore: 0 };
}

/** Bytes that are kept in memory before they become a blob, which the browser may keep on disk. */
const KEPT = 8 << 20;

/** The items of a table as a file, however long; `told` hears how many bytes have come. */
export async function exportTable(
  asked: { table: string; format: string },
  told: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const response = await ask(`${API}/dump?${new URLSearchParams(asked)}`, { signal });
  const blobs: Blob[] = [];
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let [waiting, total] = [0, 0];
  try {
    for (const reader = response.body!.getReader(); ;) {
      const { value, done } = await reader.read();
      if (done) return new Blob([...blobs, ...pieces]);
      pieces.push(value);
      waiting += value.length;
      total += value.length;
      if (waiting >= KEPT) {
        blobs.push(new Blob(pieces));
        [pieces, waiting] = [[], 0];
      }
      told(total);
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Refusal(
      "Incomplete",
      `The export broke off after ${bytes(total)}, and nothing was saved. The server's output says why; \`keyloom dump --table ${asked.table}\` does the same on the command line.`,
      0,
    );
  }
}

// The console's JSON API (docs: `docs/console.md`): the design, its plans, and what the server has seen.
import { ask, askJson } from "./http";
import type { Item } from "../values/attribute";

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
  partitions: { from: number; to: number; reads: number; writes: number; bytes?: number | null }[];
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
export const runPattern = (
  design: string,
  asked: { pattern: string; inputs: Record<string, string>; limit?: number; cursor?: unknown },
) => askJson<Ran>(`${API}/designs/${part(design)}/run`, { json: asked });
export const recognize = (design: string, table: string, items: Item[], signal?: AbortSignal) =>
  askJson<Recognized[]>(`${API}/designs/${part(design)}/recognize`, { json: { table, items }, signal });
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

export const readDoctor = () => askJson<{ findings: DoctorFinding[] }>(`${API}/doctor`);
export const readMigrations = () => askJson<unknown[]>(`${API}/migrations`);
export const readCluster = () => askJson<Record<string, unknown>>(`${API}/cluster`);
export const simulate = (asked: unknown) => askJson<Simulation>(`${API}/simulate`, { json: asked });

export interface Simulation {
  design: string;
  minutes: number;
  advice?: unknown;
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

export async function importFile(
  asked: { table: string; format: string; design?: string; entity?: string; name: string },
  file: File,
): Promise<Loaded> {
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
  const body = new Uint8Array(await file.arrayBuffer());
  const headers = { "content-type": "application/octet-stream" };
  return (await (await ask(`${API}/load?${query}`, { method: "POST", body, headers })).json()) as Loaded;
}

export async function exportTable(asked: { table: string; format: string; design?: string }): Promise<Blob> {
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
  return (await ask(`${API}/dump?${query}`)).blob();
}

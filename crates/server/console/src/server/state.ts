// What several views share: the server, its tables, designs and live statistics.
import { computed, effect, signal } from "@preact/signals";
import { readDesign, readInfo, type Design, type Entity, type Info } from "./api";
import { describe, tableNames, type TableDescription } from "./dynamo";
import { askJson, credentials, missing, region, signing, unauthorised } from "./http";

export const info = signal<Info | null>(null);
export const infoError = signal<Error | null>(null);
/** Names of all tables; `null` before the first page of them. */
export const tables = signal<string[] | null>(null);
export const tablesComplete = signal(false);
export const designs = signal<Design[]>([]);
/** Whether the designs were read: views that show items by entity wait for them. */
export const designsRead = signal(false);
export const readOnly = computed(() => info.value?.readOnly === true);
export const signedIn = computed(
  () =>
    info.value !== null &&
    (signing.value !== "required" || credentials.value !== null) &&
    unauthorised.value === null,
);

/** Asks the server what it is; with credentials, once more for all that it tells then. */
export async function connect(): Promise<void> {
  try {
    let answer = await readInfo();
    signing.value = answer.signing ?? "none";
    region.value = answer.region ?? "us-east-1";
    // The first question goes out before it is known how the page shows who it is.
    if (signing.value === "proxy" || credentials.value) answer = await readInfo();
    unauthorised.value = signing.value === "proxy" && answer.designs === undefined ? "" : null;
    info.value = answer;
    infoError.value = null;
    if (!signedIn.value) return;
    await Promise.all([refreshTables(), refreshDesigns(answer.designs ?? [])]);
  } catch (error) {
    infoError.value = error as Error;
  }
}

let listing: AbortController | null = null;

export async function refreshTables(): Promise<void> {
  listing?.abort();
  const mine = (listing = new AbortController());
  tablesComplete.value = false;
  const first = tables.value === null;
  let shown = 0;
  try {
    const all = await tableNames((names) => {
      // Showing each of a hundred pages of names would draw the list a hundred times.
      if (first && performance.now() - shown > 300) {
        tables.value = names;
        shown = performance.now();
      }
    }, mine.signal);
    tables.value = all;
    tablesComplete.value = true;
  } catch (error) {
    if (!mine.signal.aborted) throw error;
  }
}

async function refreshDesigns(names: string[]): Promise<void> {
  designs.value = await Promise.all(names.map(readDesign));
  designsRead.value = true;
}

export async function refreshDesign(name: string): Promise<Design> {
  const fresh = await readDesign(name);
  designs.value = designs.value.map((design) => (design.name === name ? fresh : design));
  return fresh;
}

export function designOf(table: string): Design | undefined {
  return designs.value.find((design) => design.tables.some((candidate) => candidate.name === table));
}

export function entitiesOf(table: string): Entity[] {
  return designOf(table)?.entities.filter((entity) => entity.table === table) ?? [];
}

const described = new Map<string, Promise<TableDescription>>();

/** A table's description, kept for half a minute or so, since views ask for it often. */
export function description(table: string): Promise<TableDescription> {
  const known = described.get(table);
  if (known) return known;
  const asked = describe(table);
  described.set(table, asked);
  const forget = () => described.get(table) === asked && described.delete(table);
  asked.then(() => setTimeout(forget, 30_000), forget);
  return asked;
}

// A table that is gone leaves the lists, too.
effect(() => {
  if (!missing.value) return;
  described.clear();
  refreshTables().catch(() => undefined);
});

export interface Moment {
  start_ms: number;
  requests: number;
  reads: number;
  writes: number;
  throttled: number;
}

export interface StatsPlace {
  table: string;
  index: string | null;
  requests: number;
  reads: number;
  writes: number;
  seconds: Moment[];
  minutes: Moment[];
  hours: Moment[];
  throttled: Record<string, number>;
}

export interface StatsTable {
  name: string;
  items: number;
  bytes: number;
  indexes: { name: string; kind: string; items: number; bytes: number }[];
}

export interface Stats {
  since_ms: number;
  until_ms: number;
  requests: number;
  places: StatsPlace[];
  tables: StatsTable[];
  errors: { operation: string; code: string; count: number }[];
}

export const stats = signal<Stats | null>(null);
export const statsError = signal<string | null>(null);

/** Asks for the statistics now and then while a view wants them. */
export function watchStats(everyMs = 2000): () => void {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const round = async () => {
    try {
      if (!document.hidden) stats.value = await askJson<Stats>("/keyloom/stats");
      statsError.value = null;
    } catch (error) {
      statsError.value = (error as Error).message;
    }
    if (!stopped) timer = setTimeout(() => void round(), everyMs);
  };
  void round();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

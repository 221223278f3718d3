// The behaviour suite of generated TypeScript: see crates/cli/tests/generated.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

import {
  type AttributeValue,
  CreateTableCommand,
  DynamoDBClient,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";
import { GetCommand } from "@aws-sdk/lib-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";

type Texts = Record<string, string>;

interface Call {
  inputs: Record<string, { type: string; text: string }>;
  rows: { entity: string; values: Texts }[] | null;
  error: string | null;
}

interface Step {
  do: string;
  entity: string;
  values?: Texts;
  key?: Texts;
  changes?: Record<string, string | null>;
  name: string;
  many: boolean;
  members: { entity: string; values: Texts[] }[];
  error: string | null;
}

interface Life {
  tables: { TableName: string }[];
  steps: Step[];
  items: [string, Record<string, AttributeValue>][];
  races: { entity: string; table: string; key: Texts; changes: Texts[] }[];
}

interface Case {
  module: string;
  life: Life;
  tables: { TableName: string }[];
  entities: Record<string, Texts>;
  guards: string[];
  rows: {
    entity: string;
    values: Texts;
    table: string;
    item: Record<string, AttributeValue>;
  }[];
  patterns: {
    name: string;
    returns: string[];
    single: boolean;
    several: boolean;
    paged: boolean;
    calls: Call[];
  }[];
}

// Generated modules have types of their own; the suite calls them by name.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any;

const [endpoint = "", file = ""] = process.argv.slice(2);
const client = new DynamoDBClient({ endpoint });

function pascal(name: string): string {
  const words = name.match(/[A-Z]+[a-z0-9]*|[a-z0-9]+/g) ?? [];
  const text = words.map((w) => w.charAt(0).toUpperCase() + w.slice(1));
  return text.join("").replace(/^(?=\d)/, "Pattern");
}

/** The value that a text of the design stands for in TypeScript. */
function valueOf(type: string, text: string): unknown {
  const [kind = "", width = ""] = type.split(":");
  if (["u8", "u16", "u32", "number"].includes(kind)) return Number(text);
  if (kind.startsWith("shard")) return Number(text);
  if (kind === "u64" || kind === "i64") {
    return /^\d+$/.test(width) && Number(width) <= 15
      ? Number(text)
      : BigInt(text);
  }
  if (kind === "epoch_ms") return Date.parse(text);
  if (kind === "decimal") {
    const [whole = "", fraction = ""] = text.split(".");
    const scale = Number(width.split(".")[1]);
    return scale === 0 ? whole : `${whole}.${fraction.padEnd(scale, "0")}`;
  }
  if (kind === "bool") return text === "true";
  if (kind === "binary") return Uint8Array.from(Buffer.from(text, "hex"));
  if (kind === "list") return [text];
  if (kind === "string_set") return new Set([text]);
  if (kind === "number_set") return new Set([Number(text)]);
  return text;
}

function typed(fields: Texts, values: Texts): Record<string, unknown> {
  const entries = Object.entries(values).map(([name, text]) => [
    name,
    valueOf(fields[name] ?? "string", text),
  ]);
  return Object.fromEntries(entries);
}

/** What a program sees of a row: no calculated shards, and only what is returned. */
function seen(
  fields: Texts,
  values: Record<string, unknown>,
  returns: string[],
): Record<string, unknown> {
  const isSeen = ([name, value]: [string, unknown]) =>
    value !== undefined &&
    !fields[name]?.startsWith("shard") &&
    (returns.length === 0 || returns.includes(name));
  return Object.fromEntries(Object.entries(values).filter(isSeen));
}

function check(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  const show = (value: unknown) =>
    JSON.stringify(value, (_, v: unknown) =>
      typeof v === "bigint" ? `${v}n` : v instanceof Set ? [...v] : v,
    );
  throw new Error(
    `${what}\n  got    ${show(actual)}\n  wanted ${show(expected)}`,
  );
}

async function inParallel<T>(all: T[], work: (one: T) => Promise<void>) {
  for (let at = 0; at < all.length; at += 16) {
    await Promise.all(all.slice(at, at + 16).map(work));
  }
}

/** Items as they are stored, in an order of their own. */
async function stored(table: string): Promise<string[]> {
  const items: string[] = [];
  let start: Record<string, AttributeValue> | undefined;
  do {
    const page = await client.send(
      new ScanCommand({
        TableName: table,
        ...(start ? { ExclusiveStartKey: start } : {}),
      }),
    );
    items.push(...(page.Items ?? []).map(canonical));
    start = page.LastEvaluatedKey;
  } while (start);
  return items.sort();
}

function canonical(item: Record<string, unknown>): string {
  const sorted = Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(sorted, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
  );
}

let calls = 0;
let rows = 0;
let steps = 0;
let races = 0;

async function runCall(
  one: Case,
  db: Any,
  pattern: Case["patterns"][number],
  call: Call,
) {
  const method = pascal(pattern.name);
  const name = method.charAt(0).toLowerCase() + method.slice(1);
  const inputs = Object.fromEntries(
    Object.entries(call.inputs).map(([n, { type, text }]) => [
      n,
      valueOf(type, text),
    ]),
  );
  const what = `${one.module}: ${pattern.name} ${JSON.stringify(call.inputs)}`;
  const own =
    db[name] ??
    db[`${name}Pattern`] ??
    db[method.replace(/^(.[A-Z]+)(?=[A-Z]|\d|$)/, (w) => w.toLowerCase())];
  if (own === undefined) throw new Error(`${what}: there is no ${name}`);
  const ask = () => own.call(db, inputs);
  const decoded = (row: Any) => {
    const entity = pattern.several ? row.type : call.rows?.[0]?.entity;
    const values = pattern.several ? row.item : row;
    return { entity, values: seen(one.entities[entity] ?? {}, values, []) };
  };
  let answer: Any[];
  try {
    const asked = ask();
    answer = pattern.single
      ? [await asked].filter((row) => row)
      : await asked.collect();
  } catch (error) {
    if (call.error !== null && (error as Error).name === "InvalidValue") return;
    throw new Error(`${what}: ${String(error)}`, { cause: error });
  }
  if (call.rows === null)
    throw new Error(`${what}: should fail: ${call.error}`);
  const expected = call.rows.map(({ entity, values }) => {
    const fields = one.entities[entity] ?? {};
    return {
      entity,
      values: seen(fields, typed(fields, values), pattern.returns),
    };
  });
  check(answer.map(decoded), expected, what);
  calls += 1;
  rows += answer.length;
  if (pattern.single || !pattern.paged) return;
  const all = await ask().collect(Infinity);
  const paged: Any[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask().page({ size: 3, cursor });
    paged.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  check(paged, all, `${what}: page by page`);
  for (const forged of ["", "x", "bm9uc2Vuc2U", "W10", "eyJhIjoxfQ"]) {
    const page = ask().page({ size: 3, cursor: forged });
    const error = await page.then(
      () => null,
      (caught: Error) => caught.name,
    );
    check(error, "InvalidCursor", `${what}: cursor \`${forged}\``);
  }
}

/** The module's name of an entity. */
function typeOf(module: Any, entity: string): string {
  const names = Object.keys(module);
  return names.find((name) => module[name].spec?.name === entity) ?? "";
}

function changesOf(
  fields: Texts,
  texts: Record<string, string | null>,
): Record<string, unknown> {
  const values = Object.entries(texts).map(([name, text]) => [
    name,
    text === null ? undefined : valueOf(fields[name] ?? "string", text),
  ]);
  return Object.fromEntries(values);
}

/** One step, which must end as the judge says. */
async function runStep(one: Case, module: Any, db: Any, step: Step) {
  const run = () => {
    if (step.do === "write") {
      const given = step.members.map(({ entity, values }) => {
        const some = values.map((v) => typed(one.entities[entity] ?? {}, v));
        return step.many ? some : some[0];
      });
      const method = pascal(step.name);
      const name = method.charAt(0).toLowerCase() + method.slice(1);
      return (db[`${name}Write`] ?? db[name]).apply(db, given);
    }
    const fields = one.entities[step.entity] ?? {};
    const given: unknown[] = [typed(fields, step.values ?? step.key ?? {})];
    if (step.changes) given.push(changesOf(fields, step.changes));
    return db[step.do + typeOf(module, step.entity)](...given);
  };
  let error: string | null = null;
  try {
    await run();
  } catch (caught) {
    error = (caught as Error).name;
    if (error !== step.error) {
      const what = `${one.module}: ${JSON.stringify(step)}`;
      throw new Error(`${what}: ${String(caught)}`, { cause: caught });
    }
  }
  check(error, step.error, `${one.module}: ${JSON.stringify(step)}`);
}

/** Creates, updates, deletes and writes, and what must be stored in the end. */
async function runLife(one: Case, module: Any, make: Any): Promise<void> {
  const { life } = one;
  const title = `${one.module}.life`;
  const names = Object.fromEntries(
    life.tables.map(({ TableName }) => [TableName, `${title}.${TableName}`]),
  );
  for (const table of life.tables) {
    const TableName = names[table.TableName];
    await client.send(new CreateTableCommand({ ...table, TableName } as Any));
  }
  const db = new make(client, names);
  for (const step of life.steps) {
    await runStep(one, module, db, step);
    steps += 1;
  }
  for (const [table, own] of Object.entries(names)) {
    const wanted = life.items.filter(([name]) => name === table);
    const items = wanted.map(([, item]) => canonical(item)).sort();
    check(await stored(own), items, `${title}: ${table}`);
  }
  for (const race of life.races) {
    const fields = one.entities[race.entity] ?? {};
    const name = typeOf(module, race.entity);
    const key = typed(fields, race.key);
    const changes = race.changes.map((texts) => changesOf(fields, texts));
    await Promise.all(
      changes.map((change) => db[`update${name}`](key, change)),
    );
    const type = module[name];
    const row = await db[`get${name}`](key, true);
    const wanted = type.item(row);
    const { table } = type;
    const primary = [...table.primary.hash, ...table.primary.range];
    const { Item } = await db.client.send(
      new GetCommand({
        TableName: names[race.table] ?? "",
        Key: Object.fromEntries(primary.map((n: string) => [n, wanted[n]])),
      }),
    );
    const shown = (item: Record<string, unknown>) =>
      canonical(marshall(item, { removeUndefinedValues: true }));
    check(
      shown(Item ?? {}),
      shown(wanted),
      `${title}: ${JSON.stringify(race)}`,
    );
    races += 1;
  }
}

async function runCase(one: Case): Promise<void> {
  const module: Any = await import(`./${one.module}.js`);
  const names = Object.fromEntries(
    one.tables.map(({ TableName }) => [
      TableName,
      `${one.module}.${TableName}`,
    ]),
  );
  const make =
    module[pascal(one.module)] ?? module[`${pascal(one.module)}Client`];
  const db = new make(client, names);
  for (const table of one.tables) {
    const TableName = names[table.TableName];
    await client.send(new CreateTableCommand({ ...table, TableName } as Any));
  }
  await inParallel(one.rows, async (row) => {
    const name = typeOf(module, row.entity);
    const type = module[name];
    const value = typed(one.entities[row.entity] ?? {}, row.values);
    const what = `${one.module}: ${row.entity} ${JSON.stringify(row.values)}`;
    for (const [attribute, stored] of Object.entries(row.item)) {
      const { S } = stored as { S?: string };
      const key = type.spec.keys[attribute];
      if (S === undefined || key === undefined || key.native) continue;
      check(type.build(attribute, value), S, `${what}: ${attribute}`);
      for (const [name, part] of Object.entries(type.parse(attribute, S))) {
        const isOwn = key.formats?.[name] === undefined && name in row.values;
        if (isOwn)
          check(type.build(attribute, { ...value, [name]: part }), S, what);
      }
    }
    if (one.guards.includes(row.entity)) {
      await db.run([
        {
          kind: "Put",
          entity: type,
          item: type.item(value),
          expression: { names: {}, values: {} },
        },
      ]);
    } else {
      await db[`put${name}`](value);
    }
  });
  for (const { TableName } of one.tables) {
    const wanted = one.rows.filter((row) => row.table === TableName);
    const items = wanted.map((row) => canonical(row.item)).sort();
    check(
      await stored(names[TableName] ?? ""),
      items,
      `${one.module}: ${TableName}`,
    );
  }
  for (const pattern of one.patterns) {
    for (const call of pattern.calls) await runCall(one, db, pattern, call);
  }
  await runLife(one, module, make);
}

const cases = JSON.parse(readFileSync(file, "utf8")) as Case[];
for (const one of cases) await runCase(one);
console.log(
  `${cases.length} designs, ${calls} calls, ${rows} rows, ${steps} steps, ${races} races`,
);

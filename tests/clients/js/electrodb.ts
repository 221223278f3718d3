// Generated ElectroDB entities against a server: see crates/cli/tests/generated.
//
// Rows written by ElectroDB are stored as the items of the design, byte by byte; items of the design are read back by
// ElectroDB through every index. Then entities live: puts, creates, updates and deletes, after which the stored items are
// those of the design again.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

import {
  type AttributeValue,
  CreateTableCommand,
  DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from "@aws-sdk/client-dynamodb";

// Generated entities have types of their own; the suite calls them by name.
type Any = any;
type Texts = Record<string, string>;

interface Row {
  entity: string;
  values: Texts;
  table: string;
  item: Record<string, AttributeValue>;
}

interface Step {
  do: "put" | "create" | "update" | "delete";
  entity: string;
  values?: Texts;
  key?: Texts;
  changes?: Record<string, string | null>;
  error: string | null;
}

interface Case {
  module: string;
  entity_life: {
    steps: Step[];
    items: [string, Record<string, AttributeValue>][];
  };
  tables: { TableName: string; AttributeDefinitions: Any[] }[];
  entities: Record<string, Texts>;
  rows: Row[];
}

const [endpoint = "", file = ""] = process.argv.slice(2);
const client = new DynamoDBClient({ endpoint });
let written = 0;
let read = 0;
let steps = 0;

function pascal(name: string): string {
  const words = name.match(/[A-Z]+[a-z0-9]*|[a-z0-9]+/g) ?? [];
  return words.map((w) => w.charAt(0).toUpperCase() + w.slice(1)).join("");
}

/** The value that ElectroDB takes for a text of the design. */
function valueOf(type: string, text: string): unknown {
  const kind = type.split(":")[0] ?? "";
  const numbers = ["u8", "u16", "u32", "u64", "i64", "number", "decimal"];
  if (numbers.includes(kind) || kind.startsWith("shard")) return Number(text);
  if (kind === "epoch_ms") return Date.parse(text);
  // Times are given as they are stored.
  if (kind === "hour") return text.replace("T", "-");
  if (kind === "bool") return text === "true";
  if (kind === "binary") return Uint8Array.from(Buffer.from(text, "hex"));
  if (kind === "list") return [text];
  if (kind === "string_set") return [text];
  if (kind === "number_set") return [Number(text)];
  return text;
}

function check(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(
    `${what}\n  got    ${JSON.stringify(actual)}\n  wanted ${JSON.stringify(expected)}`,
  );
}

function bare(item: Record<string, AttributeValue>): [string, string][] {
  const own = Object.entries(item).filter(
    ([name]) => !name.startsWith("__edb"),
  );
  const shown = own.map(([name, value]): [string, string] => [
    name,
    JSON.stringify(value, (_, v: unknown) =>
      v instanceof Uint8Array ? Buffer.from(v).toString("base64") : v,
    ),
  ]);
  return shown.sort(([a], [b]) => (a < b ? -1 : 1));
}

async function makeTables(one: Case, suffix: string): Promise<Texts> {
  const names: Texts = {};
  for (const table of one.tables) {
    const TableName = `${one.module}.${table.TableName}.${suffix}`;
    names[table.TableName] = TableName;
    await client.send(new CreateTableCommand({ ...table, TableName } as Any));
  }
  return names;
}

async function stored(table: string): Promise<[string, string][][]> {
  const items: Record<string, AttributeValue>[] = [];
  let start: Record<string, AttributeValue> | undefined;
  do {
    const input = start ? { ExclusiveStartKey: start } : {};
    const page = await client.send(
      new ScanCommand({ TableName: table, ...input }),
    );
    items.push(...(page.Items ?? []));
    start = page.LastEvaluatedKey;
  } while (start);
  return items.map(bare).sort((a, b) => (String(a) < String(b) ? -1 : 1));
}

function typed(
  one: Case,
  entity: string,
  values: Texts,
): Record<string, unknown> {
  const fields = one.entities[entity] ?? {};
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([n, text]) => [n, valueOf(fields[n] ?? "string", text)]),
  );
}

/** Every index of an entity finds the row. */
async function findsRow(entity: Any, values: Any, what: string) {
  const indexes = Object.entries(entity.schema.indexes) as [string, Any][];
  for (const [name, index] of indexes) {
    const facets = [
      ...(index.pk.composite ?? []),
      ...(index.sk?.composite ?? []),
    ];
    const given = Object.fromEntries(facets.map((n: string) => [n, values[n]]));
    if (Object.values(given).some((value) => value === undefined)) continue;
    if (index.condition && !index.condition(values)) continue;
    const found = await entity.query[name](given).go({
      ignoreOwnership: true,
      pages: "all",
    });
    const keys = entity.schema.indexes.primary;
    const identity = [...keys.pk.composite, ...(keys.sk?.composite ?? [])];
    // An index may hold some attributes only.
    const mine = found.data.some((row: Any) =>
      identity.every((n: string) => [values[n], undefined].includes(row[n])),
    );
    check(mine, true, `${what} by ${name}`);
    read += 1;
  }
}

/** The fields of each secondary index: those of its keys, and those that its condition looks at. */
function indexFields(entity: Any): string[][] {
  const indexes = Object.values(entity.schema.indexes) as Any[];
  return indexes
    .filter((index) => index.index !== undefined && index.type !== "composite")
    .map((index) => {
      const looked = String(index.condition ?? "").matchAll(
        /attr\["([^"]+)"\]/g,
      );
      const keyed = [
        ...(index.pk.composite ?? []),
        ...(index.sk?.composite ?? []),
      ];
      return [...keyed, ...[...looked].map((found) => found[1] ?? "")];
    });
}

/** The fields that calculated shards are made of: an update does not calculate them. */
function sharding(entity: Any): string[] {
  const attributes = Object.values(entity.schema.attributes) as Any[];
  return attributes.flatMap((attribute) =>
    attribute.set ? (attribute.watch ?? []) : [],
  );
}

/** A key with the shards in it, which ElectroDB asks for. */
function whole(entity: Any, key: Any): Any {
  const full = { ...key };
  const attributes = Object.entries(entity.schema.attributes) as [
    string,
    Any,
  ][];
  for (const [name, attribute] of attributes) {
    if (attribute.set && attribute.watch && full[name] === undefined) {
      const shard = attribute.set(undefined, full);
      if (shard !== undefined) full[name] = shard;
    }
  }
  return full;
}

/** An update, as the head of the generated module says that it is to be made. */
async function update(entity: Any, own: Any, changes: Record<string, unknown>) {
  const key = whole(entity, own);
  const found = await entity.get(key).go();
  if (!found.data) throw new Error("NotFound");
  const after = whole(entity, { ...found.data, ...changes });
  const names = Object.keys(changes);
  const concerned = indexFields(entity).filter((index) =>
    index.some((n) => names.includes(n)),
  );
  if (sharding(entity).some((name) => names.includes(name))) {
    await entity.put(after).go();
    return;
  }
  const { pk, sk } = entity.schema.indexes.primary;
  const fixed = [...pk.composite, ...(sk?.composite ?? [])];
  const set: Record<string, unknown> = {};
  const shards: Record<string, unknown> = {};
  for (const name of [...names, ...concerned.flat()]) {
    if (after[name] === undefined || fixed.includes(name)) continue;
    const calculated = entity.schema.attributes[name].set !== undefined;
    (calculated ? shards : set)[name] = after[name];
  }
  const gone = names.filter((name) => changes[name] === undefined);
  let patch = entity.patch(key).set(set).composite(shards);
  if (gone.length > 0) patch = patch.remove(gone);
  await patch.go();
}

async function runStep(one: Case, entity: Any, step: Step): Promise<void> {
  const given: Any = typed(one, step.entity, step.values ?? step.key ?? {});
  const what = `${one.module}: ${JSON.stringify(step)}`;
  let error: string | null = null;
  try {
    if (step.do === "update") {
      const texts = Object.entries(step.changes ?? {});
      const values = typed(
        one,
        step.entity,
        Object.fromEntries(texts.filter(([, t]) => t !== null)) as Texts,
      );
      const gone = texts
        .filter(([, text]) => text === null)
        .map(([name]) => [name, undefined]);
      await update(entity, given, { ...values, ...Object.fromEntries(gone) });
    } else {
      await entity[step.do](
        step.do === "delete" ? whole(entity, given) : given,
      ).go();
    }
  } catch (caught) {
    const { message, cause } = caught as {
      message: string;
      cause?: { name: string };
    };
    error = message === "NotFound" ? message : (cause?.name ?? message);
    if (error === "ConditionalCheckFailedException") error = "AlreadyExists";
    if (error !== step.error)
      throw new Error(`${what}: ${String(caught)}`, { cause: caught });
  }
  check(error, step.error, what);
  steps += 1;
}

/** Puts, creates, updates and deletes, and what must be stored in the end. */
async function runLife(one: Case, create: Any, entityOf: Any): Promise<void> {
  const names = await makeTables(one, "life");
  const own = create(client, names);
  for (const step of one.entity_life.steps) {
    await runStep(one, entityOf(own, step.entity), step);
  }
  for (const [table, name] of Object.entries(names)) {
    const wanted = one.entity_life.items.filter(([its]) => its === table);
    const items = wanted.map(([, item]) => bare(item));
    items.sort((a, b) => (String(a) < String(b) ? -1 : 1));
    check(await stored(name), items, `${one.module}: life of ${table}`);
  }
}

async function runCase(one: Case): Promise<void> {
  const module: Any = await import(`./${one.module}.js`);
  const create = module[`create${pascal(one.module)}`];
  const written_to = await makeTables(one, "electrodb");
  const own = create(client, written_to);
  const entityOf = (all: Any, name: string): Any =>
    Object.values(all).find((it: Any) => it.schema?.model?.entity === name);
  for (const row of one.rows) {
    const entity = entityOf(own, row.entity);
    await entity.put(typed(one, row.entity, row.values)).go();
    written += 1;
  }
  for (const { TableName } of one.tables) {
    const wanted = one.rows.filter((row) => row.table === TableName);
    const items = wanted.map((row) => bare(row.item));
    items.sort((a, b) => (String(a) < String(b) ? -1 : 1));
    check(await stored(written_to[TableName] ?? ""), items, one.module);
  }
  const read_from = await makeTables(one, "design");
  const other = create(client, read_from);
  for (const row of one.rows) {
    const TableName = read_from[row.table];
    await client.send(new PutItemCommand({ TableName, Item: row.item }));
  }
  for (const row of one.rows.slice(0, 25)) {
    const what = `${one.module}: ${row.entity} ${JSON.stringify(row.values)}`;
    await findsRow(
      entityOf(other, row.entity),
      typed(one, row.entity, row.values),
      what,
    );
  }
  await runLife(one, create, entityOf);
}

const cases = JSON.parse(readFileSync(file, "utf8")) as Case[];
for (const one of cases) await runCase(one);
console.log(
  `${cases.length} designs, ${written} written, ${read} read, ${steps} steps`,
);

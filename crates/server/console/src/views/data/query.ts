// What the browser of a table asks for, as its address says it: one Query where a partition is named, else a Scan.
import { amend, route } from "../../router";
import { dynamo, keyTypes, type Page, type Place, type TableDescription } from "../../server/dynamo";
import type { Attribute, Item } from "../../values/attribute";

export type SortOp = "=" | "begins" | "<" | "<=" | ">" | ">=" | "between";

export interface Asked {
  table: TableDescription;
  place: Place;
  /** Values of the partition key's attributes; a Scan unless all are there. */
  partition: string[];
  sortOp: SortOp;
  sort: string;
  sortTo: string;
  backward: boolean;
  /** Beginnings that keys must have, when scanning. */
  prefixes: Record<string, string>;
  limit: number;
  start: Item | null;
}

export interface Answer {
  rows: Item[];
  next: Item | null;
  units: number;
  scanned: number;
  requests: number;
  ms: number;
  body: Record<string, unknown>;
  operation: "Query" | "Scan";
}

export function readAsked(table: TableDescription, all: Place[]): Asked {
  const query = route.value.query;
  const index = query.get("index");
  const place = all.find((candidate) => candidate.index === index) ?? (all[0] as Place);
  let start: Item | null = null;
  try {
    start = JSON.parse(query.get("from") ?? "null") as Item | null;
  } catch {
    // A damaged address shows the first page.
  }
  const prefixes: Record<string, string> = {};
  for (const [name, value] of query) if (name.startsWith("prefix.")) prefixes[name.slice(7)] = value;
  return {
    table,
    place,
    partition: place.partitionKey.map((_, n) => query.get(n ? `pk${n + 1}` : "pk") ?? ""),
    sortOp: (query.get("op") as SortOp | null) ?? "begins",
    sort: query.get("sk") ?? "",
    sortTo: query.get("to") ?? "",
    backward: query.get("dir") === "back",
    prefixes,
    limit: Math.max(1, Math.min(1000, Number(query.get("limit")) || 100)),
    start,
  };
}

export const isQuery = (asked: Asked) => asked.partition.length > 0 && asked.partition.every(Boolean);

/** Writes an expression's names and values down as it goes. */
class Expression {
  names: Record<string, string> = {};
  values: Record<string, Attribute> = {};
  constructor(private types: Record<string, string>) {}
  name(attribute: string): string {
    const short = `#n${Object.keys(this.names).length}`;
    this.names[short] = attribute;
    return short;
  }
  value(attribute: string, text: string): string {
    const short = `:v${Object.keys(this.values).length}`;
    this.values[short] = { [this.types[attribute] ?? "S"]: text } as unknown as Attribute;
    return short;
  }
}

function sortCondition(asked: Asked, expression: Expression): string | null {
  const attribute = asked.place.sortKey[0];
  if (!attribute || !asked.sort) return null;
  const name = expression.name(attribute);
  const value = expression.value(attribute, asked.sort);
  if (asked.sortOp === "begins") return `begins_with(${name}, ${value})`;
  if (asked.sortOp === "between")
    return `${name} BETWEEN ${value} AND ${expression.value(attribute, asked.sortTo)}`;
  return `${name} ${asked.sortOp} ${value}`;
}

function body(asked: Asked): { operation: "Query" | "Scan"; body: Record<string, unknown> } {
  const expression = new Expression(keyTypes(asked.table));
  const made: Record<string, unknown> = {
    TableName: asked.table.TableName,
    Limit: asked.limit,
    ReturnConsumedCapacity: "TOTAL",
  };
  if (asked.place.index) made.IndexName = asked.place.index;
  if (asked.start) made.ExclusiveStartKey = asked.start;
  const operation = isQuery(asked) ? "Query" : "Scan";
  if (operation === "Query") {
    const conditions = asked.place.partitionKey.map(
      (attribute, n) =>
        `${expression.name(attribute)} = ${expression.value(attribute, asked.partition[n] ?? "")}`,
    );
    const sort = sortCondition(asked, expression);
    made.KeyConditionExpression = [...conditions, sort].filter(Boolean).join(" AND ");
    if (asked.backward) made.ScanIndexForward = false;
  } else {
    const filters = Object.entries(asked.prefixes)
      .filter(([, prefix]) => prefix)
      .map(
        ([attribute, prefix]) =>
          `begins_with(${expression.name(attribute)}, ${expression.value(attribute, prefix)})`,
      );
    if (filters.length) made.FilterExpression = filters.join(" AND ");
  }
  if (Object.keys(expression.names).length) made.ExpressionAttributeNames = expression.names;
  if (Object.keys(expression.values).length) made.ExpressionAttributeValues = expression.values;
  return { operation, body: made };
}

const MOST_REQUESTS = 20;

/** One page. A filter can leave pages empty: then it goes on, for a while. */
export async function readPage(asked: Asked, signal?: AbortSignal): Promise<Answer> {
  const began = performance.now();
  const { operation, body: first } = body(asked);
  const answer: Answer = {
    rows: [],
    next: null,
    units: 0,
    scanned: 0,
    requests: 0,
    ms: 0,
    body: first,
    operation,
  };
  let start = asked.start;
  do {
    const page: Page = await dynamo(
      operation,
      start ? { ...first, ExclusiveStartKey: start } : first,
      signal,
    );
    answer.rows.push(...(page.Items ?? []));
    answer.units += page.ConsumedCapacity?.CapacityUnits ?? 0;
    answer.scanned += page.ScannedCount ?? 0;
    answer.requests++;
    start = answer.next = page.LastEvaluatedKey ?? null;
  } while (answer.next && answer.rows.length < asked.limit && answer.requests < MOST_REQUESTS);
  answer.ms = performance.now() - began;
  return answer;
}

/** The key with which a page begins after this row. */
export function startAfter(asked: Asked, row: Item): Item {
  const names = [
    ...asked.place.partitionKey,
    ...asked.place.sortKey,
    ...asked.table.KeySchema.map((key) => key.AttributeName),
  ];
  return Object.fromEntries(names.flatMap((name) => (row[name] ? [[name, row[name]]] : [])));
}

/** Shows the page before the one that begins with this row: found by reading backward from it. */
export async function goBack(asked: Asked, first: Item | undefined): Promise<void> {
  if (!first || !isQuery(asked)) return amend({ from: null });
  const reversed: Asked = {
    ...asked,
    backward: !asked.backward,
    start: startAfter(asked, first),
    limit: asked.limit + 1,
  };
  const before = await readPage(reversed);
  const edge = before.rows[asked.limit];
  amend({ from: edge ? JSON.stringify(startAfter(asked, edge)) : null });
}

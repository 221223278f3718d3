// DynamoDB's own operations, as any client sends them.
import { ask } from "./http";
import type { Item } from "../values/attribute";

export interface KeyElement {
  AttributeName: string;
  KeyType: "HASH" | "RANGE";
}

export interface IndexDescription {
  IndexName: string;
  KeySchema: KeyElement[];
  IndexStatus?: string;
  ItemCount?: number;
  IndexSizeBytes?: number;
  Projection?: { ProjectionType?: string; NonKeyAttributes?: string[] };
}

export interface TableDescription {
  TableName: string;
  TableStatus: string;
  KeySchema: KeyElement[];
  AttributeDefinitions: { AttributeName: string; AttributeType: "S" | "N" | "B" }[];
  ItemCount?: number;
  TableSizeBytes?: number;
  CreationDateTime?: number;
  BillingModeSummary?: { BillingMode?: string };
  GlobalSecondaryIndexes?: IndexDescription[];
  LocalSecondaryIndexes?: IndexDescription[];
  StreamSpecification?: { StreamEnabled?: boolean; StreamViewType?: string };
}

export interface Consumed {
  CapacityUnits?: number;
}

export interface Page {
  Items?: Item[];
  Count?: number;
  ScannedCount?: number;
  LastEvaluatedKey?: Item;
  NextToken?: string;
  ConsumedCapacity?: Consumed;
}

/** Numbers in answers are texts already ({"N": "…"}), so that JSON.parse loses nothing. */
export async function dynamo<T>(operation: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await raw(operation, JSON.stringify(body), signal)).answer as T;
}

/** Sends a body as it was typed; tells how long the answer took. */
export async function raw(operation: string, body: string, signal?: AbortSignal) {
  const began = performance.now();
  const response = await ask("/", {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `DynamoDB_20120810.${operation}`,
    },
    body,
    signal,
  });
  const text = await response.text();
  return { answer: JSON.parse(text) as unknown, text, ms: performance.now() - began };
}

/** The names of all tables, page by page: `seen` is called after each. */
export async function tableNames(seen: (names: string[]) => void, signal?: AbortSignal): Promise<string[]> {
  let names: string[] = [];
  let after: string | undefined;
  do {
    const page: { TableNames: string[]; LastEvaluatedTableName?: string } = await dynamo(
      "ListTables",
      after === undefined ? {} : { ExclusiveStartTableName: after },
      signal,
    );
    names = names.concat(page.TableNames);
    after = page.LastEvaluatedTableName;
    seen(names);
  } while (after !== undefined);
  return names;
}

export async function describe(table: string, signal?: AbortSignal): Promise<TableDescription> {
  return (await dynamo<{ Table: TableDescription }>("DescribeTable", { TableName: table }, signal)).Table;
}

/** A way to look at a table: itself or one of its indexes. */
export interface Place {
  index: string | null;
  partitionKey: string[];
  sortKey: string[];
  local: boolean;
  projection: string;
}

const named = (schema: KeyElement[], type: string) =>
  schema.filter((key) => key.KeyType === type).map((key) => key.AttributeName);

export function places(table: TableDescription): Place[] {
  const of = (index: string | null, schema: KeyElement[], local: boolean, projection: string): Place => ({
    index,
    partitionKey: named(schema, "HASH"),
    sortKey: named(schema, "RANGE"),
    local,
    projection,
  });
  return [
    of(null, table.KeySchema, false, "ALL"),
    ...(table.LocalSecondaryIndexes ?? []).map((index) =>
      of(index.IndexName, index.KeySchema, true, index.Projection?.ProjectionType ?? "ALL"),
    ),
    ...(table.GlobalSecondaryIndexes ?? []).map((index) =>
      of(index.IndexName, index.KeySchema, false, index.Projection?.ProjectionType ?? "ALL"),
    ),
  ];
}

export function keyTypes(table: TableDescription): Record<string, "S" | "N" | "B"> {
  return Object.fromEntries(table.AttributeDefinitions.map((a) => [a.AttributeName, a.AttributeType]));
}

/** The primary key of an item. */
export function primaryKey(table: TableDescription, item: Item): Item {
  const key: Item = {};
  for (const { AttributeName } of table.KeySchema) {
    const value = item[AttributeName];
    if (value) key[AttributeName] = value;
  }
  return key;
}

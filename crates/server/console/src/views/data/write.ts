// Writes, each conditional on what was read: a change that somebody else made meanwhile is never overwritten unseen.
import { dynamo, primaryKey, type TableDescription } from "../../server/dynamo";
import { same, type Attribute, type Item } from "../../values/attribute";

/** A condition may have 300 operators; beyond that, the rest of the attributes is not compared. */
const MOST_COMPARED = 140;

class Expressions {
  names: Record<string, string> = {};
  values: Record<string, Attribute> = {};
  name(attribute: string): string {
    const known = Object.entries(this.names).find(([, name]) => name === attribute);
    if (known) return known[0];
    const short = `#a${Object.keys(this.names).length}`;
    this.names[short] = attribute;
    return short;
  }
  value(value: Attribute): string {
    const short = `:v${Object.keys(this.values).length}`;
    this.values[short] = value;
    return short;
  }
  parts(): Record<string, unknown> {
    return {
      ...(Object.keys(this.names).length ? { ExpressionAttributeNames: this.names } : {}),
      ...(Object.keys(this.values).length ? { ExpressionAttributeValues: this.values } : {}),
    };
  }
}

/** True as long as the item is what was read. Changed attributes come first, in case there are too many. */
function asRead(
  table: TableDescription,
  was: Item,
  changed: string[],
  added: string[],
  to: Expressions,
): string {
  const keys = new Set(table.KeySchema.map((key) => key.AttributeName));
  const rest = Object.keys(was).filter((name) => !changed.includes(name));
  const compared = [...changed, ...rest]
    .filter((name) => !keys.has(name) && was[name])
    .slice(0, MOST_COMPARED);
  const conditions = compared.map((name) => `${to.name(name)} = ${to.value(was[name]!)}`);
  for (const name of added.slice(0, MOST_COMPARED)) conditions.push(`attribute_not_exists(${to.name(name)})`);
  const partition = table.KeySchema[0]?.AttributeName ?? "";
  return [`attribute_exists(${to.name(partition)})`, ...conditions].join(" AND ");
}

export async function create(table: TableDescription, item: Item): Promise<void> {
  const partition = table.KeySchema[0]?.AttributeName ?? "";
  await dynamo("PutItem", {
    TableName: table.TableName,
    Item: item,
    ConditionExpression: "attribute_not_exists(#p)",
    ExpressionAttributeNames: { "#p": partition },
  });
}

/** Changes an item that was read as `was`. With another key, it moves, in one transaction. */
export async function change(table: TableDescription, was: Item, now: Item): Promise<void> {
  const key = primaryKey(table, was);
  const moved = Object.keys(key).some((name) => !same(key[name], now[name]));
  return moved ? move(table, was, now) : update(table, key, was, now);
}

async function update(table: TableDescription, key: Item, was: Item, now: Item): Promise<void> {
  const set = Object.keys(now).filter((name) => !(name in key) && !same(was[name], now[name]));
  const removed = Object.keys(was).filter((name) => !(name in key) && !now[name]);
  if (!set.length && !removed.length) return;
  const to = new Expressions();
  const added = set.filter((name) => !was[name]);
  const condition = asRead(table, was, [...set.filter((name) => was[name]), ...removed], added, to);
  const actions = [];
  if (set.length)
    actions.push(`SET ${set.map((name) => `${to.name(name)} = ${to.value(now[name]!)}`).join(", ")}`);
  if (removed.length) actions.push(`REMOVE ${removed.map((name) => to.name(name)).join(", ")}`);
  await dynamo("UpdateItem", {
    TableName: table.TableName,
    Key: key,
    UpdateExpression: actions.join(" "),
    ConditionExpression: condition,
    ...to.parts(),
  });
}

async function move(table: TableDescription, was: Item, now: Item): Promise<void> {
  const to = new Expressions();
  const condition = asRead(table, was, [], [], to);
  const partition = table.KeySchema[0]?.AttributeName ?? "";
  await dynamo("TransactWriteItems", {
    TransactItems: [
      {
        Delete: {
          TableName: table.TableName,
          Key: primaryKey(table, was),
          ConditionExpression: condition,
          ...to.parts(),
        },
      },
      {
        Put: {
          TableName: table.TableName,
          Item: now,
          ConditionExpression: "attribute_not_exists(#p)",
          ExpressionAttributeNames: { "#p": partition },
        },
      },
    ],
  });
}

/** Deletes an item that was read as `was`, and returns what was deleted, for the way back. */
export async function remove(table: TableDescription, was: Item): Promise<Item> {
  const to = new Expressions();
  const condition = asRead(table, was, [], [], to);
  const answer = await dynamo<{ Attributes?: Item }>("DeleteItem", {
    TableName: table.TableName,
    Key: primaryKey(table, was),
    ConditionExpression: condition,
    ...to.parts(),
    ReturnValues: "ALL_OLD",
  });
  return answer.Attributes ?? was;
}

export async function read(table: TableDescription, key: Item): Promise<Item | null> {
  const answer = await dynamo<{ Item?: Item }>("GetItem", {
    TableName: table.TableName,
    Key: key,
    ConsistentRead: true,
  });
  return answer.Item ?? null;
}

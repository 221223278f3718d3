// Items as the two kinds of JSON that people edit. DynamoDB JSON says each value's type. Plain JSON does not: sets and
// binaries have the forms {"$set": […]} and {"$binary": "base64"}, and numbers keep all their digits.
import { isLosslessNumber, LosslessNumber, parse, stringify } from "lossless-json";
import { kindOf, type Attribute, type Item, type Kind } from "./attribute";

/** What is wrong with an edited text. */
export class Malformed extends Error {}

export function toDynamoJson(item: Item): string {
  return JSON.stringify(item, null, 2);
}

export function fromDynamoJson(text: string): Item {
  return mapOf(parsed(text), "the item", typed);
}

export function toPlainJson(item: Item): string {
  return stringify(plainMap(item), null, 2) ?? "{}";
}

export function fromPlainJson(text: string): Item {
  return mapOf(parsed(text), "the item", untyped);
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new Malformed((error as Error).message);
  }
}

function mapOf(value: unknown, where: string, of: (value: unknown, where: string) => Attribute): Item {
  if (!isObject(value)) throw new Malformed(`${where} must be an object {…}`);
  const item: Item = Object.create(null) as Item;
  for (const [name, member] of Object.entries(value)) item[name] = of(member, `“${name}”`);
  return item;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

const texts = (value: unknown, where: string): string[] => {
  if (!Array.isArray(value) || value.some((member) => typeof member !== "string")) {
    throw new Malformed(`${where} must be a list of texts`);
  }
  return value as string[];
};

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

function checkedNumber(text: string, where: string): string {
  if (!NUMBER.test(text)) throw new Malformed(`${where}: “${text.slice(0, 40)}” is not a number`);
  return text;
}

const TYPED: Record<Kind, (value: unknown, where: string) => Attribute> = {
  S: (value, where) => ({ S: text(value, where) }),
  N: (value, where) => ({ N: checkedNumber(text(value, where), where) }),
  B: (value, where) => ({ B: text(value, where) }),
  BOOL: (value, where) => ({ BOOL: flag(value, where) }),
  NULL: (value, where) => ({ NULL: flag(value, where) }),
  SS: (value, where) => ({ SS: texts(value, where) }),
  NS: (value, where) => ({ NS: texts(value, where).map((member) => checkedNumber(member, where)) }),
  BS: (value, where) => ({ BS: texts(value, where) }),
  L: (value, where) => {
    if (!Array.isArray(value)) throw new Malformed(`${where}: L must be a list`);
    return { L: value.map((member, n) => typed(member, `${where}[${n}]`)) };
  },
  M: (value, where) => ({ M: mapOf(value, where, typed) }),
};

function typed(value: unknown, where: string): Attribute {
  const names = isObject(value) ? Object.keys(value) : [];
  const read = names.length === 1 ? TYPED[names[0] as Kind] : undefined;
  if (!read) {
    throw new Malformed(`${where} must be one typed value such as {"S": "text"} or {"N": "1"}`);
  }
  return read((value as Record<string, unknown>)[names[0]!], where);
}

function text(value: unknown, where: string): string {
  if (typeof value !== "string") throw new Malformed(`${where} must be a text in quotes`);
  return value;
}

function flag(value: unknown, where: string): boolean {
  if (typeof value !== "boolean") throw new Malformed(`${where} must be true or false`);
  return value;
}

function plainMap(item: Item): Record<string, unknown> {
  const out: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of Object.entries(item)) out[name] = plain(value);
  return out;
}

function plain(value: Attribute): unknown {
  if ("S" in value) return value.S;
  if ("N" in value) return new LosslessNumber(value.N);
  if ("BOOL" in value) return value.BOOL;
  if ("NULL" in value) return null;
  if ("L" in value) return value.L.map(plain);
  if ("M" in value) return plainMap(value.M);
  if ("B" in value) return { $binary: value.B };
  if ("SS" in value) return { $set: value.SS };
  if ("NS" in value) return { $set: value.NS.map((number) => new LosslessNumber(number)) };
  return { $set: value.BS.map((binary) => ({ $binary: binary })) };
}

function untyped(value: unknown, where: string): Attribute {
  if (typeof value === "string") return { S: value };
  if (typeof value === "boolean") return { BOOL: value };
  if (value === null) return { NULL: true };
  if (isLosslessNumber(value)) return { N: value.toString() };
  if (Array.isArray(value)) return { L: value.map((member, n) => untyped(member, `${where}[${n}]`)) };
  if (isObject(value)) {
    const names = Object.keys(value);
    if (names.length === 1 && typeof value.$binary === "string") return { B: value.$binary };
    if (names.length === 1 && Array.isArray(value.$set)) return setOf(value.$set, where);
    return { M: mapOf(value, where, untyped) };
  }
  throw new Malformed(`${where} has a value that DynamoDB does not have`);
}

function setOf(members: unknown[], where: string): Attribute {
  const values = members.map((member) => untyped(member, where));
  const kind = values[0] ? kindOf(values[0]) : undefined;
  if (!kind || !["S", "N", "B"].includes(kind) || values.some((value) => kindOf(value) !== kind)) {
    throw new Malformed(`${where}: a set has members, all texts, all numbers or all binaries`);
  }
  const all = values.map((value) => Object.values(value)[0] as string);
  return { [`${kind}S`]: all } as unknown as Attribute;
}

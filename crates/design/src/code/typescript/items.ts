// ---------------------------------------------------------------------------
// Items: entities as they are stored.
// ---------------------------------------------------------------------------

/** An item as the document client has it. */
export type Item = Record<string, unknown>;

interface Field extends Format {
  readonly optional?: boolean;
  readonly key_only?: boolean;
  readonly shards?: number;
  readonly by?: readonly string[];
}

/** A condition on a field; times may be periods, such as a day. */
interface Question {
  readonly field: string;
  readonly test: string;
  readonly values?: readonly unknown[];
  readonly from?: unknown;
  readonly after?: unknown;
  readonly to?: unknown;
  readonly before?: unknown;
}

interface Key {
  readonly template?: string;
  readonly formats?: Record<string, Format>;
  readonly native?: boolean;
  readonly when?: readonly Question[];
  readonly max?: number;
}

interface EntitySpec {
  readonly name: string;
  readonly table: string;
  readonly fields: Record<string, Field>;
  readonly keys: Record<string, Key>;
}

interface Index {
  readonly hash: readonly string[];
  readonly range: readonly string[];
}

interface Table {
  readonly keys: Record<string, "S" | "N" | "B">;
  readonly primary: Index;
  readonly indexes: Record<string, Index>;
  readonly type_attribute?: string;
  readonly separator: string;
  readonly escape: Codec["escape"];
}

/** A number of DynamoDB as text, whatever the document client made of it. */
function numberText(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") {
    return plainNumber(String(value));
  }
  const wrapped = value as { readonly value?: unknown } | null;
  return plainNumber(String(wrapped?.value ?? value));
}

/** A number without an exponent. */
function plainNumber(text: string): string {
  const found = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d+)$/.exec(text);
  if (found === null) return text;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = found;
  const all = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${all}`;
  const padded = all.padEnd(point, "0");
  const rest = padded.slice(point);
  return sign + padded.slice(0, point) + (rest === "" ? "" : `.${rest}`);
}

/** Numbers inside of lists and maps, as numbers where they are exact. */
function unwrapped(value: unknown): unknown {
  if (value instanceof NumberValue) {
    const number = Number(value.value);
    return Number.isSafeInteger(number) || !/^-?\d+$/.test(value.value)
      ? number
      : BigInt(value.value);
  }
  if (Array.isArray(value)) return value.map(unwrapped);
  if (value instanceof Set) return new Set([...value].map(unwrapped));
  if (value instanceof Uint8Array) return value;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([k, v]) => [k, unwrapped(v)]));
  }
  return value;
}

/** The attribute that stores a value. */
function attributeOf(field: Field, value: unknown): unknown {
  switch (field.kind) {
    case "number":
      return typeof value === "string" ? NumberValue.from(value) : value;
    case "binary":
    case "list":
    case "map":
    case "string_set":
    case "number_set":
      return value;
    case "bool":
      return pointOf(field, value) === 1n;
    case "epoch_ms":
      return timeOf(value).ms;
    case "decimal":
      return NumberValue.from(String(valueAt(field, pointOf(field, value))));
    case "hour":
      if (field.desc) return display(field, value);
      return write({ kind: "hour" }, value, VERBATIM);
    case "hex":
      return writeHex({ ...field, desc: false }, value);
  }
  if (WHOLE[field.kind] !== undefined) {
    writePoint(field, pointOf(field, value));
    return wholeOf(value);
  }
  if (isText(field)) {
    const text = String(value);
    if (text === "") return text;
    return writeText({ ...field, desc: false }, text, VERBATIM);
  }
  return display(field, value);
}

/** The value that an attribute stores. */
function valueOf(field: Field, stored: unknown): unknown {
  if (stored === undefined || stored === null) return undefined;
  if (WHOLE[field.kind] !== undefined || field.kind === "decimal") {
    return valueAt(field, pointOf(field, numberText(stored)));
  }
  if (field.kind === "number" || field.kind === "epoch_ms") {
    return Number(numberText(stored));
  }
  if (field.kind === "hour") return timeText(timeOf(stored).ms, 3);
  return unwrapped(stored);
}

/** A key attribute that is the field itself. */
function nativeKey(field: Field, type: string, value: unknown): unknown {
  const stored = attributeOf(field, value);
  const text = () =>
    stored instanceof NumberValue ? stored.value : display(field, value);
  if (type === "N") return isNumber(stored) ? stored : NumberValue.from(text());
  if (type === "B") {
    return stored instanceof Uint8Array ? stored : utf8.encode(text());
  }
  return typeof stored === "string" ? stored : text();
}

function isNumber(value: unknown): boolean {
  const type = typeof value;
  return type === "number" || type === "bigint" || value instanceof NumberValue;
}

/** The order of two attributes, as DynamoDB has it. */
function compareValues(a: unknown, b: unknown): number {
  if (typeof a === "string" && typeof b === "string") return compareText(a, b);
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") {
    return Number(a) - Number(b);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    const [left, right] = [hexOf(a), hexOf(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  }
  return Number(a !== undefined) - Number(b !== undefined);
}

function compareNumbers(a: unknown, b: unknown): number {
  const [left, right] = [numberText(a), numberText(b)];
  const scale = (text: string) => text.split(".")[1]?.length ?? 0;
  const places = Math.max(scale(left), scale(right));
  const order = unscaled(left, places)[0] - unscaled(right, places)[0];
  return order < 0n ? -1 : order > 0n ? 1 : 0;
}

/** The first or the last moment of a period, as finely as the field keeps it. */
function moment(field: Field, value: unknown, isLast: boolean): unknown {
  const precision = PRECISIONS[field.kind];
  if (precision === undefined) return value;
  const time = timeOf(value);
  const ms = isLast ? lastOf(time) : time.ms;
  const start = startOf(periodOf(ms, precision), precision);
  return field.kind === "epoch_ms" ? start : timeText(start, precision);
}

function isPeriod(field: Field, value: unknown): boolean {
  const precision = PRECISIONS[field.kind];
  return precision !== undefined && timeOf(value).precision < precision;
}

type Test = readonly [
  attribute: string,
  operator: string,
  ...values: unknown[],
];

/** A condition as tests of attributes, in the way `to` writes values. */
function testsOf(
  question: Question,
  field: Field,
  to: (value: unknown) => unknown,
): Test[] {
  const name = question.field;
  const [value] = question.values ?? [];
  const edge = (of: unknown, isLast: boolean) => to(moment(field, of, isLast));
  const exact = (of: unknown) => {
    if (!isPeriod(field, of)) return to(of);
    throw new InvalidValue(`\`${name}\` is compared with a moment here`);
  };
  const { from, after, to: until, before } = question;
  switch (question.test) {
    case "=": {
      const [first, last] = [edge(value, false), edge(value, true)];
      const isOne = compareValues(first, last) === 0;
      return isOne ? [[name, "=", first]] : [[name, "between", first, last]];
    }
    case "range": {
      if (from !== undefined && until !== undefined) {
        return [[name, "between", edge(from, false), edge(until, true)]];
      }
      const tests: Test[] = [];
      if (from !== undefined) tests.push([name, ">=", edge(from, false)]);
      if (after !== undefined) tests.push([name, ">", edge(after, true)]);
      if (until !== undefined) tests.push([name, "<=", edge(until, true)]);
      if (before !== undefined) tests.push([name, "<", edge(before, false)]);
      return tests;
    }
    case "begins_with":
      return [[name, "begins_with", folded(field, String(value))]];
    case "contains":
    case "lacks":
      return [[name, question.test, elementOf(field, value)]];
    case "exists":
    case "missing":
      return [[name, question.test]];
    default:
      return [[name, question.test, ...(question.values ?? []).map(exact)]];
  }
}

/** What `contains` looks for: an element of a list or set, a part of a text. */
function elementOf(field: Field, value: unknown): unknown {
  if (field.kind === "number_set") return NumberValue.from(numberText(value));
  return isText(field) ? folded(field, String(value)) : value;
}

/** Whether a test holds of an attribute. */
function isTrue(test: Test, stored: unknown): boolean {
  const [, operator, first, second] = test;
  if (stored === undefined) {
    return ["missing", "<>", "lacks"].includes(operator);
  }
  const order = compareValues(stored, first);
  const has = () =>
    typeof stored === "string"
      ? stored.includes(String(first))
      : [...(stored as Iterable<unknown>)].some(
          (v) => compareValues(v, first) === 0,
        );
  switch (operator) {
    case "=":
      return order === 0;
    case "<>":
      return order !== 0;
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    case ">=":
      return order >= 0;
    case "between":
      return order >= 0 && compareValues(stored, second) <= 0;
    case "in":
      return test.slice(2).some((value) => compareValues(stored, value) === 0);
    case "begins_with":
      return String(stored).startsWith(String(first));
    case "contains":
      return has();
    case "lacks":
      return !has();
    default:
      return operator === "exists";
  }
}

/** An entity: what its items look like, and the way from values to items and back. */
export class EntityType<T, K = Partial<T>> {
  private readonly templates = new Map<string, Template>();

  constructor(
    readonly table: Table,
    /** The description that the design gives. */
    readonly spec: EntitySpec,
  ) {
    for (const [attribute, key] of Object.entries(spec.keys)) {
      const text = key.template ?? `{${attribute}}`;
      this.templates.set(attribute, this.template(text, key));
    }
  }

  /** A template of this entity, whole or only the beginning of one. */
  template(text: string, key?: Key): Template {
    const formatOf = (field: string) =>
      key?.formats?.[field] ?? this.field(field);
    return Template.parse(text, formatOf, this.table, key?.max ?? 2048);
  }

  field(name: string): Field {
    return this.spec.fields[name] ?? { kind: "string" };
  }

  /** The primary key of an item. */
  key(fields: K): Item {
    const { hash, range } = this.table.primary;
    return this.keyOf([...hash, ...range], fields as Item);
  }

  /** The item that stores a value. */
  item(value: T): Item {
    const values = this.completed(value as Item);
    const item: Item = {};
    for (const [name, field] of Object.entries(this.spec.fields)) {
      if (values[name] === undefined) {
        if (field.optional || field.kind === "shard") continue;
        throw new InvalidValue(`\`${this.spec.name}\` needs \`${name}\``);
      }
      if (field.key_only || field.kind === "shard") continue;
      try {
        item[name] = attributeOf(field, values[name]);
      } catch (error) {
        throw new InvalidValue(`field \`${name}\`: ${reasonOf(error)}`);
      }
    }
    for (const attribute of Object.keys(this.spec.keys)) {
      const key = this.attribute(attribute, values);
      if (key !== undefined) item[attribute] = key;
    }
    if (this.table.type_attribute !== undefined) {
      item[this.table.type_attribute] = this.spec.name;
    }
    return item;
  }

  /** The value that an item stores. */
  value(item: Item): T {
    return this.values(item) as T;
  }

  /** The text of a key attribute. */
  build(attribute: string, fields: Partial<T>): string {
    const template = this.templateOf(attribute);
    const values = this.completed(fields as Item);
    return template.build((name) => this.present(values, name));
  }

  /** The fields that the text of a key attribute tells. */
  parse(attribute: string, text: string): Partial<T> {
    return this.templateOf(attribute).parse(text) as Partial<T>;
  }

  /** Whether an item is one of this entity. */
  owns(item: Item): boolean {
    const { type_attribute, primary } = this.table;
    if (type_attribute !== undefined && item[type_attribute] !== undefined) {
      return item[type_attribute] === this.spec.name;
    }
    return [...primary.hash, ...primary.range].every((attribute) => {
      const stored = item[attribute];
      if (this.spec.keys[attribute]?.native || typeof stored !== "string") {
        return stored !== undefined;
      }
      try {
        this.templateOf(attribute).parse(stored);
        return true;
      } catch {
        return false;
      }
    });
  }

  /** Key attributes by their names; all of them must be there. */
  keyOf(attributes: readonly string[], fields: Item): Item {
    const values = this.completed(fields);
    const key: Item = {};
    for (const attribute of attributes) {
      for (const name of this.templateOf(attribute).fields()) {
        this.present(values, name);
      }
      key[attribute] = this.attribute(attribute, values);
    }
    return key;
  }

  /** A key attribute of these values; nothing if the item does not have it. */
  attribute(attribute: string, values: Item): unknown {
    const key = this.spec.keys[attribute];
    const template = this.templateOf(attribute);
    const names = template.fields();
    if (names.some((name) => values[name] === undefined)) return undefined;
    if (!(key?.when ?? []).every((when) => this.holds(when, values))) {
      return undefined;
    }
    const [name = ""] = names;
    if (!key?.native) return template.build((field) => values[field]);
    const type = this.table.keys[attribute] ?? "S";
    const value = nativeKey(this.field(name), type, values[name]);
    if (value === "" || (value instanceof Uint8Array && value.length === 0)) {
      throw new InvalidValue(`\`${name}\` is a key, which is never empty`);
    }
    return value;
  }

  /** The fields that a key attribute depends on. */
  dependencies(attribute: string): string[] {
    const when = this.spec.keys[attribute]?.when ?? [];
    const names = this.templateOf(attribute).fields();
    const sources = names.flatMap((name) => this.field(name).by ?? [name]);
    return [...sources, ...when.map((question) => question.field)];
  }

  templateOf(attribute: string): Template {
    const template = this.templates.get(attribute);
    if (template !== undefined) return template;
    throw new InvalidValue(`\`${this.spec.name}\` has no key \`${attribute}\``);
  }

  /** The values with the case of their fields and the shards that follow from them. */
  completed(fields: Item): Item {
    const values = { ...fields };
    for (const [name, value] of Object.entries(values)) {
      const field = this.spec.fields[name];
      if (field?.fold !== undefined && typeof value === "string") {
        values[name] = folded(field, value);
      }
    }
    for (const [name, field] of Object.entries(this.spec.fields)) {
      if (field.kind !== "shard") continue;
      const by = field.by ?? [];
      if (by.length === 0) continue;
      if (by.some((source) => values[source] === undefined)) continue;
      const texts = by.map((s) => display(this.field(s), values[s]));
      values[name] = shardOf(texts, field.shards ?? 1);
    }
    return values;
  }

  /** What an item tells: its attributes first, and the rest from its keys. */
  values(item: Item): Item {
    const values: Item = {};
    for (const [attribute, key] of Object.entries(this.spec.keys)) {
      const stored = item[attribute];
      if (key.native || typeof stored !== "string") continue;
      try {
        const parsed = this.templateOf(attribute).parse(stored);
        for (const [name, value] of Object.entries(parsed)) {
          if (!(key.formats?.[name] !== undefined && name in values)) {
            values[name] = value;
          }
        }
      } catch {
        // A key of another making tells nothing.
      }
    }
    for (const [name, field] of Object.entries(this.spec.fields)) {
      const stored = valueOf(field, item[name]);
      if (stored !== undefined) values[name] = stored;
      if (field.kind === "shard" && field.by !== undefined) delete values[name];
    }
    return values;
  }

  private holds(question: Question, values: Item): boolean {
    const field = this.field(question.field);
    const value = values[question.field];
    const stored = value === undefined ? value : attributeOf(field, value);
    const tests = testsOf(question, field, (v) => attributeOf(field, v));
    return tests.every((test) => isTrue(test, stored));
  }

  private present(values: Item, name: string): unknown {
    if (values[name] !== undefined) return values[name];
    throw new InvalidValue(
      `\`${this.spec.name}\` needs \`${name}\` for its key`,
    );
  }
}

// ---------------------------------------------------------------------------
// Reads: the planned requests, page by page, merged in the order asked for.
// ---------------------------------------------------------------------------

/** A cursor that cannot be used for this query. */
export class InvalidCursor extends Error {
  override name = "InvalidCursor";
}

/** Some of the items of an answer, and where it goes on; there is no cursor at its end. */
export interface ResultPage<T> {
  readonly items: T[];
  readonly cursor?: string;
}

/** How much of an answer is wanted. */
export interface PageOptions {
  /** How many items; if absent, as many as one request brings. */
  readonly size?: number;
  /** Where the page before ended. */
  readonly cursor?: string | undefined;
}

type AnyEntity = EntityType<object, never>;

interface Range {
  readonly prefix: string;
  readonly question: Question;
  readonly format: Format;
  /** The literal between this field and the next one, and whether there is a next one. */
  readonly tail: string;
  readonly last: boolean;
  /** The ends of the field and of what follows it. */
  readonly edges: readonly [string, string];
  readonly rest: readonly [string, string];
  /** What follows a text directly. */
  readonly next: string;
}

interface Read {
  readonly entity: AnyEntity;
  readonly index?: string;
  readonly get?: boolean;
  readonly pins: Record<string, unknown>;
  readonly shards?: Record<
    string,
    { readonly by: readonly string[]; readonly count: number }
  >;
  readonly fans?: readonly Fan[];
  /** How many sort attributes are pinned. */
  readonly pinned?: number;
  readonly begins?: string;
  readonly range?: Range;
  readonly native?: Question;
  readonly filter?: readonly Question[];
  readonly types?: readonly string[];
  readonly raw?: RawRead;
  readonly backward?: boolean;
  readonly consistent?: boolean;
  readonly fetches?: boolean;
}

/** A hand-written request: texts with `{inputs}`. */
interface RawRead {
  readonly equal: readonly RawTest[];
  readonly sort?: RawTest;
  readonly filter?: readonly RawTest[];
}

interface RawTest {
  readonly name: string;
  readonly test: string;
  readonly values: readonly { readonly text: string; readonly kind: string }[];
}

interface Fan {
  readonly field: string;
  readonly shards?: number;
  readonly values?: readonly unknown[];
  readonly buckets?: string;
  readonly question?: Question;
}

interface Pattern {
  readonly name: string;
  readonly find: readonly AnyEntity[];
  readonly via?: AnyEntity;
  readonly inputs: Record<string, unknown>;
  readonly reads: readonly Read[];
  readonly order?: readonly {
    readonly field: string;
    readonly desc?: boolean;
  }[];
  readonly limit?: number;
  readonly consistent?: boolean;
  /** How the items themselves are fetched, if the rows only lead to them. */
  readonly then?: { readonly batch: boolean; readonly index?: string };
  readonly alternatives?: boolean;
  readonly one_page?: boolean;
  readonly returns?: readonly string[];
}

/** A read with its inputs filled in. */
interface Concrete {
  readonly get: boolean;
  readonly entity: AnyEntity;
  readonly index: string | undefined;
  readonly equal: Item;
  readonly sort: Test | undefined;
  readonly filter: readonly Test[];
  readonly forward: boolean;
  readonly consistent: boolean;
  readonly fetches: boolean;
}

/** The most periods that one range may touch. */
const MAX_BUCKETS = 10_000;
const MAX_PARALLEL = 16;

function indexOf(entity: AnyEntity, name: string | undefined): Index {
  const { primary, indexes } = entity.table;
  return name === undefined ? primary : (indexes[name] ?? primary);
}

/** The shortest period in which every time lies that begins with a text. */
function aroundOf(text: string): Time {
  for (const length of [13, 10, 7, 4].filter((one) => one <= text.length)) {
    try {
      return parseTime(text.slice(0, length));
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
    }
  }
  throw new InvalidValue(`\`${text}\` begins no year`);
}

/** The periods of which some time begins with a text. */
function begun(format: Format, text: string, precision: number): string[] {
  const around = aroundOf(text);
  const isFiner = (PRECISIONS[format.kind] ?? 0) > precision;
  const last = periodOf(lastOf(around), precision);
  const found: string[] = [];
  for (let at = periodOf(around.ms, precision); at <= last; at++) {
    const own = timeText(startOf(at, precision), precision);
    if (own.startsWith(text) || (isFiner && text.startsWith(own))) {
      found.push(own);
    }
  }
  return found;
}

/** The periods that a range of time touches. */
function bucketsOf(entity: AnyEntity, fan: Fan): unknown[] {
  const precision = PRECISIONS[fan.buckets ?? ""] ?? 0;
  if (fan.question?.test === "begins_with") {
    const text = String(fan.question.values?.[0]);
    return begun(entity.field(fan.field), text, precision);
  }
  const {
    values = [],
    from,
    after,
    to,
    before,
  } = fan.question ?? { field: "" };
  const [low, high] = [from ?? after ?? values[0], to ?? before ?? values[0]];
  if (low === undefined || high === undefined) {
    throw new InvalidValue(`\`${fan.field}\` needs both ends of its range`);
  }
  const [start, end] = [timeOf(low), timeOf(high)];
  const first = after === undefined ? start.ms : lastOf(start) + 1;
  const last = before === undefined ? lastOf(end) : end.ms - 1;
  const [from_, to_] = [periodOf(first, precision), periodOf(last, precision)];
  if (to_ - from_ >= MAX_BUCKETS) {
    throw new InvalidValue(
      `the range of \`${fan.field}\` touches more than ${MAX_BUCKETS} periods`,
    );
  }
  const found: unknown[] = [];
  for (let period = from_; period <= to_; period++) {
    found.push(timeText(startOf(period, precision), precision));
  }
  return found;
}

function fanValues(entity: AnyEntity, fan: Fan): unknown[] {
  if (fan.shards !== undefined) {
    return Array.from({ length: fan.shards }, (_, shard) => shard);
  }
  return fan.values === undefined ? bucketsOf(entity, fan) : [...fan.values];
}

/** Every combination of fan values. */
function fannedOut(read: Read): Item[] {
  let all: Item[] = [{}];
  for (const fan of read.fans ?? []) {
    const values = fanValues(read.entity, fan);
    all = all.flatMap((so) => values.map((v) => ({ ...so, [fan.field]: v })));
  }
  return all;
}

function concreteReads(pattern: Pattern): Concrete[] {
  const reads: Concrete[] = [];
  for (const read of pattern.reads) {
    const several = pattern.alternatives ?? false;
    const first = several ? 0 : reads.length;
    const isListed =
      several || (read.fans ?? []).some((fan) => fan.values !== undefined);
    for (const fanned of fannedOut(read)) {
      const concrete =
        read.raw === undefined
          ? filled(read, fanned, pattern)
          : filledRaw(read, read.raw, pattern);
      if (concrete === undefined) continue;
      const same = (other: Concrete) => identity(other) === identity(concrete);
      if (!(isListed && reads.slice(first).some(same))) reads.push(concrete);
    }
  }
  return reads;
}

function identity(read: Concrete): string {
  const { index, equal, sort, filter } = read;
  return JSON.stringify([index, equal, sort, filter], (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

function isReversed(test: Test | undefined): boolean {
  return (
    test !== undefined &&
    test[1] === "between" &&
    compareValues(test[2], test[3]) > 0
  );
}

/** A read with values; nothing if no item can satisfy it. */
function filled(
  read: Read,
  fanned: Item,
  pattern: Pattern,
): Concrete | undefined {
  const { entity } = read;
  const values: Item = { ...read.pins, ...fanned };
  for (const [name, { by, count }] of Object.entries(read.shards ?? {})) {
    const texts = by.map((s) => display(entity.field(s), values[s]));
    values[name] = shardOf(texts, count);
  }
  for (const [name, value] of Object.entries(values)) {
    const field = entity.field(name);
    if (typeof value === "string") values[name] = folded(field, value);
  }
  const { hash, range } = indexOf(entity, read.index);
  const bound = [...hash, ...range.slice(0, read.pinned ?? 0)];
  const equal: Item = {};
  for (const attribute of bound)
    equal[attribute] = pinned(entity, attribute, values);
  const next = range[read.pinned ?? 0];
  const sort = next === undefined ? undefined : sortTest(read, next, values);
  const filter = filterTests(read);
  if (isReversed(sort) || filter.some(isReversed)) return undefined;
  return {
    get: read.get ?? false,
    entity,
    index: read.index,
    equal,
    sort,
    filter,
    forward: !read.backward,
    consistent: pattern.consistent ?? false,
    fetches: read.fetches ?? false,
  };
}

/** A key attribute of a read: the condition of a sparse key is what the pattern asks for. */
function pinned(entity: AnyEntity, attribute: string, values: Item): unknown {
  const template = entity.templateOf(attribute);
  const key = entity.spec.keys[attribute];
  const [name = ""] = template.fields();
  for (const field of template.fields()) {
    if (values[field] === undefined) {
      throw new InvalidValue(`the input \`${field}\` has no value`);
    }
  }
  if (!key?.native) return template.build((field) => values[field]);
  const type = entity.table.keys[attribute] ?? "S";
  const value = nativeKey(entity.field(name), type, values[name]);
  if (value !== "") return value;
  throw new InvalidValue(`\`${name}\` is a key, which is never empty`);
}

function sortTest(
  read: Read,
  attribute: string,
  values: Item,
): Test | undefined {
  const { entity } = read;
  const key = entity.spec.keys[attribute];
  if (read.native !== undefined) {
    const field = entity.field(read.native.field);
    const type = entity.table.keys[attribute] ?? "S";
    const to = (value: unknown) => nativeKey(field, type, value);
    const [test] = testsOf(read.native, field, to);
    return test === undefined
      ? test
      : [attribute, ...(test.slice(1) as [string])];
  }
  const built = (text: string) =>
    entity.template(text, key).build((field) => {
      if (values[field] !== undefined) return values[field];
      throw new InvalidValue(`the input \`${field}\` has no value`);
    });
  if (read.range !== undefined) {
    const prefix = built(read.range.prefix);
    const [operator, ...ends] = ranged(read.range, prefix, entity.table);
    return [attribute, operator, ...ends];
  }
  if (read.begins === undefined || read.begins === "") return undefined;
  return [attribute, "begins_with", built(read.begins)];
}

type Ends = [operator: string, ...values: string[]];

/** The keys whose next field satisfies a condition, as one key condition. */
function ranged(range: Range, prefix: string, codec: Codec): Ends {
  const { question, format } = range;
  if (question.test === "begins_with" && format.kind !== "enum") {
    return ["begins_with", prefix + beginning(range, codec)];
  }
  if (format.kind === "enum") return rangedChoices(range, prefix, codec);
  if (bounds(format) !== undefined && !format.plain) {
    return rangedScalar(range, prefix);
  }
  if (question.test === "=") {
    return equalTo(range, prefix, write(format, question.values?.[0], codec));
  }
  return rangedText(range, prefix, codec);
}

function equalTo(range: Range, prefix: string, written: string): Ends {
  const key = prefix + written + range.tail;
  return range.last ? ["=", key] : ["begins_with", key];
}

function emptyRange(range: Range): InvalidValue {
  return new InvalidValue(
    `no value of \`${range.question.field}\` is in the range`,
  );
}

function beginning(range: Range, codec: Codec): string {
  const { format, question, tail } = range;
  const text = String(question.values?.[0] ?? "");
  if (text === "") throw new InvalidValue("a beginning is never empty");
  let written = text;
  if (format.kind === "uuid") written = text.toLowerCase();
  if (format.kind === "ulid") written = text.toUpperCase();
  if (isText(format) && format.kind !== "fixed") {
    const value = folded(format, text);
    if (codec.escape === "reject" && value.includes(codec.separator)) {
      throw new InvalidValue(`\`${text}\` contains the separator`);
    }
    written = escaped(value, codec);
  }
  for (let at = 1; at < written.length; at++) {
    if (tail !== "" && tail.startsWith(written.slice(at))) {
      throw new InvalidValue(
        `\`${text}\` also begins keys with a shorter value`,
      );
    }
  }
  return written;
}

function rangedScalar(range: Range, prefix: string): Ends {
  const { format, question, rest } = range;
  let [least, greatest] = bounds(format) ?? [0n, 0n];
  const { from, after, to, before, values } = question;
  const raise = (low: bigint) => (least = low > least ? low : least);
  const lower = (high: bigint) =>
    (greatest = high < greatest ? high : greatest);
  if (question.test === "=") {
    const [first, last] = spanOf(format, bucketed(format, values?.[0]));
    raise(first);
    lower(last);
  }
  if (from !== undefined) raise(spanOf(format, from)[0]);
  if (after !== undefined) raise(spanOf(format, after)[1] + 1n);
  if (to !== undefined) lower(spanOf(format, to)[1]);
  if (before !== undefined) lower(spanOf(format, before)[0] - 1n);
  if (least > greatest) throw emptyRange(range);
  if (least === greatest) {
    return equalTo(range, prefix, writePoint(format, least));
  }
  const [first, last] = format.desc ? [greatest, least] : [least, greatest];
  return between(
    range,
    prefix + writePoint(format, first) + rest[0],
    prefix + writePoint(format, last) + rest[1],
  );
}

/** The bucket of a finer time, for equality: building a key truncates it, too. */
function bucketed(format: Format, value: unknown): unknown {
  const precision = PRECISIONS[format.kind];
  if (precision === undefined || precision > 3) return value;
  const time = timeOf(value);
  return time.precision > precision ? timeText(time.ms, precision) : value;
}

function between(range: Range, lower: string, upper: string): Ends {
  const order = compareText(lower, upper);
  if (order > 0) throw emptyRange(range);
  return order === 0 ? ["=", lower] : ["between", lower, upper];
}

function rangedText(range: Range, prefix: string, codec: Codec): Ends {
  const { format, question, rest, edges } = range;
  let [lower, upper] = edges;
  const raise = (low: string) =>
    (lower = compareText(low, lower) > 0 ? low : lower);
  const reduce = (high: string) =>
    (upper = compareText(high, upper) < 0 ? high : upper);
  const { from, after, to, before } = question;
  // The range of a descending field is reversed in keys.
  const [least, above, most, below] = format.desc
    ? [to, before, from, after]
    : [from, after, to, before];
  if (least !== undefined) raise(write(format, least, codec) + rest[0]);
  if (above !== undefined) raise(write(format, above, codec) + range.next);
  if (most !== undefined) reduce(write(format, most, codec) + rest[1]);
  if (below !== undefined) {
    const end = under(
      format,
      write(format, below, codec),
      below,
      codec,
      rest[1],
    );
    if (end === undefined) throw emptyRange(range);
    reduce(end);
  }
  // No key is empty, and DynamoDB accepts no empty bound.
  const low = prefix + lower;
  return between(range, low === "" ? "\u0000" : low, prefix + upper);
}

/** The upper bound of all texts below one; nothing if there are none. */
function under(
  format: Format,
  written: string,
  value: unknown,
  codec: Codec,
  rest: string,
): string | undefined {
  const isFixed = fixedWidth(format) !== undefined;
  if (format.desc && !isFixed && written.endsWith("~")) {
    return `${written.slice(0, -1)}g`;
  }
  if (format.kind === "hex" || format.desc) {
    for (let head = written; head !== "";) {
      const byte = parseInt(head.slice(-2), 16);
      head = head.slice(0, -2);
      if (byte > 0) {
        return head + (byte - 1).toString(16).padStart(2, "0") + SENTINEL;
      }
      if (!isFixed) return head === "" ? undefined : head + rest;
    }
    return undefined;
  }
  const guard = format.kind === "fixed" ? VERBATIM : codec;
  const head = [...folded(format, String(value))];
  for (let last = head.pop(); last !== undefined; last = head.pop()) {
    const before = previous(format, last);
    const text = escaped(head.join(""), guard);
    if (before !== undefined) return text + escaped(before, guard) + SENTINEL;
    if (!isFixed) return text === "" ? undefined : text + rest;
  }
  return undefined;
}

/** The character before this one that values may have. */
function previous(format: Format, c: string): string | undefined {
  const code = codeOf(c);
  if (code > 0x80) {
    return code === 0xe000 ? "\uD7FF" : String.fromCodePoint(code - 1);
  }
  const isForeign = (text: string) =>
    (format.kind === "token" && !/[A-Za-z0-9._-]/.test(text)) ||
    (format.fold === "lower" && /[A-Z]/.test(text)) ||
    (format.fold === "upper" && /[a-z]/.test(text));
  for (let before = code - 1; before >= 0; before--) {
    const text = String.fromCharCode(before);
    if (!isForeign(text)) return text;
  }
  return undefined;
}

function rangedChoices(range: Range, prefix: string, codec: Codec): Ends {
  const { format, question, rest } = range;
  const tests = testsOf(question, format, (v) => folded(format, String(v)));
  const choices = (format.values ?? []).map((value) => {
    const written = prefix + write(format, value, codec);
    const isWanted = tests.every((test) => isTrue(test, value));
    return { value, isWanted, low: written + rest[0], high: written + rest[1] };
  });
  const wanted = choices.filter((choice) => choice.isWanted);
  const [only] = wanted;
  if (only === undefined) throw emptyRange(range);
  if (wanted.length === 1) {
    return equalTo(range, prefix, write(format, only.value, codec));
  }
  const least = wanted.map((c) => c.low).sort(compareText)[0] ?? "";
  const greatest =
    wanted
      .map((c) => c.high)
      .sort(compareText)
      .at(-1) ?? "";
  const isBetween = (c: (typeof choices)[number]) =>
    !c.isWanted &&
    compareText(c.high, least) >= 0 &&
    compareText(c.low, greatest) <= 0;
  const other = choices.find(isBetween);
  if (other !== undefined) {
    throw new InvalidValue(
      `the keys with \`${other.value}\` lie between the ones wanted`,
    );
  }
  return between(range, least, greatest);
}

function filterTests(read: Read): Test[] {
  const tests: Test[] = [];
  const attribute = read.entity.table.type_attribute;
  if (attribute !== undefined && read.types !== undefined) {
    tests.push([attribute, "in", ...read.types]);
  }
  for (const question of read.filter ?? []) {
    const field = read.entity.field(question.field);
    tests.push(...testsOf(question, field, (v) => attributeOf(field, v)));
  }
  return tests;
}

function filledRaw(read: Read, raw: RawRead, pattern: Pattern): Concrete {
  const { entity } = read;
  const { separator, escape } = entity.table;
  const fill = (isKey: boolean, text: string, kind: string): unknown => {
    const written = text.replace(/\{([^}:]*)[^}]*\}/g, (_, name: string) => {
      const value = pattern.inputs[name];
      if (value === undefined) {
        throw new InvalidValue(`the input \`${name}\` has no value`);
      }
      const shown = display(entity.field(name), value);
      if (
        isKey &&
        kind === "S" &&
        escape !== "none" &&
        shown.includes(separator)
      ) {
        throw new InvalidValue(`\`${name}\` contains \`${separator}\``);
      }
      return shown;
    });
    if (kind === "N") return NumberValue.from(written);
    return kind === "BOOL" ? written === "true" : written;
  };
  const test = (isKey: boolean, one: RawTest): Test => [
    one.name,
    one.test,
    ...one.values.map(({ text, kind }) => fill(isKey, text, kind)),
  ];
  const equal = raw.equal.map((one) => test(true, one));
  return {
    get: read.get ?? false,
    entity,
    index: read.index,
    equal: Object.fromEntries(equal.map(([name, , value]) => [name, value])),
    sort: raw.sort && test(true, raw.sort),
    filter: (raw.filter ?? []).map((one) => test(false, one)),
    forward: !read.backward,
    consistent: pattern.consistent ?? false,
    fetches: read.fetches ?? false,
  };
}

/** Tests as an expression of DynamoDB, with its names and values. */
class Expression {
  readonly names: Record<string, string> = {};
  readonly values: Record<string, unknown> = {};

  all(tests: readonly Test[]): string {
    return tests.map((test) => this.test(test)).join(" AND ");
  }

  name(attribute: string): string {
    const known = Object.entries(this.names).find(([, n]) => n === attribute);
    if (known !== undefined) return known[0];
    const name = `#n${Object.keys(this.names).length}`;
    this.names[name] = attribute;
    return name;
  }

  value(value: unknown): string {
    const name = `:v${Object.keys(this.values).length}`;
    this.values[name] = value;
    return name;
  }

  test([attribute, operator, ...given]: Test): string {
    const name = this.name(attribute);
    const [first = "", ...more] = given.map((value) => this.value(value));
    switch (operator) {
      case "between":
        return `${name} BETWEEN ${first} AND ${more.join()}`;
      case "in":
        return `${name} IN (${[first, ...more].join(", ")})`;
      case "begins_with":
      case "contains":
        return `${operator}(${name}, ${first})`;
      case "lacks":
        return `NOT contains(${name}, ${first})`;
      case "exists":
        return `attribute_exists(${name})`;
      case "missing":
        return `attribute_not_exists(${name})`;
      default:
        return `${name} ${operator} ${first}`;
    }
  }
}

/** Where a read stands: before its start, after a key, or at its end. */
type Position = "start" | "done" | Item;

/** What requests go through. */
interface Connection {
  readonly client: DynamoDBDocumentClient;
  nameOf(table: string): string;
}

/** One read, page after page. */
class Stream {
  private buffer: Item[] = [];
  private fetched: Position;
  private taken: Position;
  private isStopped = false;
  private readonly place: string[];

  constructor(
    readonly read: Concrete,
    position: Position,
    private readonly pageSize: number | undefined,
    private readonly isOnePage: boolean,
  ) {
    this.fetched = position;
    this.taken = position;
    const { hash, range } = indexOf(read.entity, read.index);
    const { primary } = read.entity.table;
    const all = [...hash, ...range, ...primary.hash, ...primary.range];
    this.place = [...new Set(all)];
  }

  peek(): Item | undefined {
    return this.buffer[0];
  }

  take(): Item | undefined {
    const row = this.buffer.shift();
    if (row !== undefined) {
      this.taken =
        this.buffer.length === 0
          ? this.fetched
          : Object.fromEntries(this.place.map((name) => [name, row[name]]));
    }
    return row;
  }

  get position(): Position {
    return this.taken;
  }

  get needsFetch(): boolean {
    return (
      this.buffer.length === 0 && this.fetched !== "done" && !this.isStopped
    );
  }

  get isDone(): boolean {
    return this.buffer.length === 0 && this.fetched === "done";
  }

  /** The key of a read for one item. */
  get key(): Item {
    const { equal, sort } = this.read;
    return sort === undefined ? equal : { ...equal, [sort[0]]: sort[2] };
  }

  accept(item: Item | undefined): void {
    this.fetched = "done";
    if (item === undefined) this.taken = "done";
    else this.buffer.push(item);
  }

  async fill(connection: Connection): Promise<void> {
    while (this.needsFetch) {
      if (this.read.get) {
        const [item] = await getAll(
          connection,
          this.read.entity,
          [this.key],
          this.read.consistent,
        );
        this.accept(item);
        return;
      }
      const start = typeof this.fetched === "object" ? this.fetched : undefined;
      const limit = this.read.filter.length === 0 || this.isOnePage;
      const size = limit ? this.pageSize : undefined;
      const page = await query(connection, this.read, start, size);
      this.fetched = page.LastEvaluatedKey ?? "done";
      this.isStopped = this.isOnePage;
      this.buffer.push(...(page.Items ?? []));
      if (this.buffer.length === 0) this.taken = this.fetched;
    }
  }
}

/** One page of a Query. */
async function query(
  connection: Connection,
  read: Concrete,
  start?: Item,
  limit?: number,
) {
  const expression = new Expression();
  const equal = Object.entries(read.equal);
  const tests: Test[] = equal.map(([name, value]) => [name, "=", value]);
  if (read.sort !== undefined) tests.push(read.sort);
  const condition = expression.all(tests);
  const filter = expression.all(read.filter);
  return connection.client.send(
    new QueryCommand({
      TableName: connection.nameOf(read.entity.spec.table),
      IndexName: read.index,
      KeyConditionExpression: condition,
      FilterExpression: filter === "" ? undefined : filter,
      ExpressionAttributeNames: expression.names,
      ExpressionAttributeValues: expression.values,
      ScanIndexForward: read.forward,
      ConsistentRead: read.consistent || undefined,
      Select: read.fetches ? "ALL_ATTRIBUTES" : undefined,
      ExclusiveStartKey: start,
      Limit: limit,
    }),
  );
}

function keyText(key: Item): string {
  const parts = Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = (value: unknown) =>
    isNumber(value)
      ? numberText(value)
      : value instanceof Uint8Array
        ? hexOf(value)
        : value;
  return JSON.stringify(parts.map(([name, value]) => [name, text(value)]));
}

/** Items by primary key, in the order of the keys; each key is fetched once. */
async function getAll(
  connection: Connection,
  entity: AnyEntity,
  keys: readonly Item[],
  consistent: boolean,
): Promise<(Item | undefined)[]> {
  const table = connection.nameOf(entity.spec.table);
  const ConsistentRead = consistent || undefined;
  const [only] = keys;
  if (only !== undefined && keys.length === 1) {
    const found = await connection.client.send(
      new GetCommand({ TableName: table, Key: only, ConsistentRead }),
    );
    return [found.Item];
  }
  const { primary } = entity.table;
  const attributes = [...primary.hash, ...primary.range];
  const found = new Map<string, Item>();
  const wanted = new Map(keys.map((key) => [keyText(key), key]));
  let waiting = [...wanted.values()];
  for (let attempt = 0; waiting.length > 0;) {
    const now = waiting.slice(0, 100);
    const answer = await connection.client.send(
      new BatchGetCommand({
        RequestItems: { [table]: { Keys: now, ConsistentRead } },
      }),
    );
    for (const item of answer.Responses?.[table] ?? []) {
      const key = attributes.map((name) => [name, item[name]] as const);
      found.set(keyText(Object.fromEntries(key)), item);
    }
    const left = answer.UnprocessedKeys?.[table]?.Keys ?? [];
    waiting = [...left, ...waiting.slice(100)];
    attempt = left.length < now.length ? 0 : attempt + 1;
    await pause(left.length > 0 ? attempt : 0);
  }
  return keys.map((key) => found.get(keyText(key)));
}

/** Waits longer with every attempt that brought nothing. */
async function pause(attempt: number): Promise<void> {
  if (attempt === 0) return;
  if (attempt > 10) throw new Error("the table takes no more requests");
  const most = Math.min(50 * 2 ** attempt, 5000);
  await new Promise((done) => setTimeout(done, Math.random() * most));
}

/** Which reads follow one another, and which are merged. */
function groupsOf(pattern: Pattern, reads: readonly Concrete[]): number[][] {
  const all = reads.map((_, at) => at);
  const order = pattern.order ?? [];
  const [read] = pattern.reads;
  if (pattern.reads.length !== 1 || read === undefined) {
    return order.length === 0 ? all.map((at) => [at]) : [all];
  }
  const fans = read.fans ?? [];
  const at = fans.findIndex((fan) => fan.buckets !== undefined);
  const [by] = order;
  const isListed = fans.some((fan) => fan.values !== undefined);
  if (at < 0 || isListed) return [all];
  if (by !== undefined && by.field !== fans[at]?.field) return [all];
  const forward = by === undefined ? !read.backward : !by.desc;
  const width = (some: readonly Fan[]) =>
    some.reduce((product, fan) => product * (fan.shards ?? 1), 1);
  const [outer, inner] = [width(fans.slice(0, at)), width(fans.slice(at + 1))];
  if (reads.length % (outer * inner) !== 0) return [all];
  const periods = reads.length / (outer * inner);
  const groups = Array.from({ length: periods }, (_, period) =>
    all.filter((n) => Math.floor(n / inner) % periods === period),
  );
  return forward ? groups : groups.reverse();
}

/** The rows of several reads as one answer, in order. */
class Merge {
  readonly streams: Stream[];
  private readonly groups: number[][];
  private readonly sort: readonly string[];
  private readonly forward: boolean;
  private readonly seen = new Set<string>();

  constructor(
    private readonly connection: Connection,
    private readonly pattern: Pattern,
    reads: readonly Concrete[],
    positions: readonly Position[],
    pageSize: number | undefined,
    isOnePage: boolean,
  ) {
    this.streams = reads.map(
      (read, at) =>
        new Stream(read, positions[at] ?? "start", pageSize, isOnePage),
    );
    this.groups = groupsOf(pattern, reads);
    const [first] = pattern.reads;
    this.sort = first ? indexOf(first.entity, first.index).range : [];
    this.forward = !first?.backward;
  }

  get isDone(): boolean {
    return this.streams.every((stream) => stream.isDone);
  }

  /** Up to so many rows; without a number, as many as are at hand. */
  async rows(wanted: number): Promise<Item[]> {
    const rows: Item[] = [];
    let group = 0;
    while (rows.length < wanted && group < this.groups.length) {
      const members = (this.groups[group] ?? []).flatMap(
        (at) => this.streams[at] ?? [],
      );
      const mustFetch = members.some((stream) => stream.needsFetch);
      if (wanted === Infinity && rows.length > 0 && mustFetch) break;
      await this.fill(members.filter((stream) => stream.needsFetch));
      const next = this.least(members);
      if (next === undefined) {
        group += 1;
        continue;
      }
      const row = next.take();
      if (row !== undefined && this.isNew(next, row)) rows.push(row);
    }
    return rows;
  }

  /** Whether a row comes for the first time: it may satisfy several alternatives. */
  private isNew(stream: Stream, row: Item): boolean {
    if (!this.pattern.alternatives) return true;
    const { hash, range } = stream.read.entity.table.primary;
    const key = [...hash, ...range].map((name) => [name, row[name]] as const);
    const text = keyText(Object.fromEntries(key));
    const isNew = !this.seen.has(text);
    this.seen.add(text);
    return isNew;
  }

  private async fill(hungry: Stream[]): Promise<void> {
    const [first] = hungry;
    if (first === undefined) return;
    if (hungry.length > 1 && hungry.every((stream) => stream.read.get)) {
      const keys = hungry.map((stream) => stream.key);
      const { entity, consistent } = first.read;
      const found = await getAll(this.connection, entity, keys, consistent);
      hungry.forEach((stream, at) => stream.accept(found[at]));
      return;
    }
    for (let at = 0; at < hungry.length; at += MAX_PARALLEL) {
      const some = hungry.slice(at, at + MAX_PARALLEL);
      await Promise.all(some.map((stream) => stream.fill(this.connection)));
    }
  }

  /** The stream whose next row comes first; of equals the first. */
  private least(members: readonly Stream[]): Stream | undefined {
    let best: Stream | undefined;
    for (const stream of members) {
      const row = stream.peek();
      if (row === undefined) continue;
      const other = best?.peek();
      if (other === undefined || this.compare(row, other) < 0) best = stream;
    }
    return best;
  }

  private compare(a: Item, b: Item): number {
    for (const { field, desc } of this.pattern.order ?? []) {
      const order = compareValues(a[field], b[field]);
      if (order !== 0) return desc ? -order : order;
    }
    for (const name of this.sort) {
      const order = compareValues(a[name], b[name]);
      if (order !== 0) return this.forward ? order : -order;
    }
    return 0;
  }
}

/** The key of an item that a row leads to; nothing if the row does not know it. */
function leadsTo(
  pattern: Pattern,
  entity: AnyEntity,
  row: Item,
): Item | undefined {
  const { hash, range } = indexOf(entity, pattern.then?.index);
  const attributes = [...hash, ...range];
  let key: Item = {};
  if (pattern.via === undefined) {
    for (const name of attributes) key[name] = row[name];
  } else {
    const values = pattern.via.values(row);
    for (const [name, value] of Object.entries(values)) {
      const field = entity.field(name);
      if (typeof value !== "string") continue;
      const precision = PRECISIONS[field.kind];
      const isTime = precision !== undefined && field.kind !== "epoch_ms";
      values[name] = isTime
        ? timeText(timeOf(value).ms, precision)
        : folded(field, value);
    }
    try {
      key = entity.keyOf(attributes, values);
    } catch (error) {
      if (error instanceof InvalidValue) return undefined;
      throw error;
    }
  }
  const isWhole = (value: unknown) => value !== undefined && value !== "";
  return Object.values(key).every(isWhole) ? key : undefined;
}

/** The items that rows lead to; the rows themselves if there is no second step. */
async function followed(
  connection: Connection,
  pattern: Pattern,
  rows: Item[],
): Promise<Item[]> {
  const { then } = pattern;
  if (then === undefined) return rows;
  const targets =
    pattern.via === undefined ? pattern.find.slice(0, 1) : pattern.find;
  const keys = rows.flatMap((row) => {
    const own = new Map<string, [AnyEntity, Item]>();
    for (const entity of targets) {
      const key = leadsTo(pattern, entity, row);
      if (key !== undefined) own.set(keyText(key), [entity, key]);
    }
    return [...own.values()];
  });
  const [first] = keys;
  if (first === undefined) return [];
  if (then.batch) {
    const wanted = keys.map(([, key]) => key);
    const consistent = pattern.consistent ?? false;
    const found = await getAll(connection, first[0], wanted, consistent);
    return found.filter((item) => item !== undefined);
  }
  const found: Item[] = [];
  for (const [entity, equal] of keys) {
    const read: Concrete = {
      get: false,
      entity,
      index: then.index,
      equal,
      sort: undefined,
      filter: [],
      forward: true,
      consistent: false,
      fetches: false,
    };
    const page = await query(connection, read);
    found.push(...(page.Items ?? []));
  }
  return found;
}

// Cursors: positions as an opaque text.

function fingerprint(pattern: Pattern): string {
  const inputs = Object.entries(pattern.inputs).sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const texts = inputs.map(([name, value]) => `${name}=${String(value)}`);
  return stableHash([pattern.name, ...texts]).toString(16);
}

function cursorOf(pattern: Pattern, streams: readonly Stream[]): string {
  const wrap = (value: unknown) => {
    if (isNumber(value)) return { N: numberText(value) };
    if (value instanceof Uint8Array) return { B: hexOf(value) };
    return { S: value };
  };
  const positions = streams.map(({ position }) => {
    if (typeof position === "string") return position;
    const entries = Object.entries(position);
    return Object.fromEntries(entries.map(([name, v]) => [name, wrap(v)]));
  });
  const text = JSON.stringify([fingerprint(pattern), positions]);
  return Buffer.from(text, "utf8").toString("base64url");
}

/** The positions of a cursor. Whatever it says, it leads to nothing that the query does not ask for. */
function positionsOf(
  pattern: Pattern,
  reads: readonly Concrete[],
  cursor: string,
): Position[] {
  if (pattern.alternatives) {
    throw new InvalidCursor("a pattern with `or` is read in one go");
  }
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    throw new InvalidCursor(
      "it is damaged: run the query again from its start",
    );
  }
  const [made, positions] = Array.isArray(content) ? content : [];
  if (made !== fingerprint(pattern)) {
    throw new InvalidCursor("it belongs to another query");
  }
  if (!Array.isArray(positions) || positions.length !== reads.length) {
    throw new InvalidCursor("the design has changed since it was made");
  }
  return positions.map((position: unknown, at) => {
    if (position === "start" || position === "done") return position;
    const key: Item = {};
    for (const [name, value] of Object.entries(position as object)) {
      const { S, N, B } = value as { S?: string; N?: string; B?: string };
      if (S !== undefined) key[name] = S;
      if (N !== undefined) key[name] = NumberValue.from(N);
      if (B !== undefined) key[name] = bytesOf(B);
    }
    const read = reads[at];
    const isSame = Object.entries(read?.equal ?? {}).every(
      ([name, value]) => compareValues(key[name], value) === 0,
    );
    const sort = read?.sort;
    if (!isSame || (sort !== undefined && !isTrue(sort, key[sort[0]]))) {
      throw new InvalidCursor("it leads out of what the query asks for");
    }
    return key;
  });
}

/** An access pattern with its inputs. Nothing is sent until items are asked for. */
export class ResultQuery<T> implements AsyncIterable<T> {
  constructor(
    private readonly connection: Connection,
    private readonly pattern: Pattern,
    private readonly decode: (item: Item) => T,
  ) {}

  /** All items; of a pattern with a limit so many, unless another number is given. */
  async collect(limit?: number): Promise<T[]> {
    const items: T[] = [];
    for await (const page of this.pages({}, limit)) items.push(...page.items);
    return items;
  }

  /** The first item. */
  async first(): Promise<T | undefined> {
    return (await this.collect(1))[0];
  }

  /** One page, and the cursor of the next one. */
  async page(options: PageOptions = {}): Promise<ResultPage<T>> {
    for await (const page of this.pages(options)) return page;
    return { items: [] };
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for await (const page of this.pages({})) yield* page.items;
  }

  private async *pages(
    options: PageOptions,
    limit?: number,
  ): AsyncGenerator<ResultPage<T>> {
    const { pattern, connection } = this;
    const reads = concreteReads(pattern);
    const { cursor, size } = options;
    const isPaged = size !== undefined || cursor !== undefined;
    const positions =
      cursor === undefined ? [] : positionsOf(pattern, reads, cursor);
    let want = limit ?? (isPaged ? Infinity : (pattern.limit ?? Infinity));
    const declared = limit ?? pattern.limit;
    const page = size ?? (declared === Infinity ? undefined : declared);
    const isOnePage =
      (pattern.one_page ?? false) && !isPaged && limit === undefined;
    const merge = new Merge(
      connection,
      pattern,
      reads,
      positions,
      page === undefined ? undefined : Math.max(1, page),
      isOnePage,
    );
    while (want > 0) {
      const items = await this.next(
        merge,
        Math.min(size ?? Infinity, want),
        want,
      );
      want -= items.length;
      const isDone = merge.isDone;
      yield {
        items: items.map(this.decode),
        ...(isDone ? {} : { cursor: cursorOf(pattern, merge.streams) }),
      };
      if (isDone || isOnePage) return;
    }
  }

  private async next(
    merge: Merge,
    size: number,
    want: number,
  ): Promise<Item[]> {
    const items: Item[] = [];
    while (items.length < size) {
      const rows = await merge.rows(size - items.length);
      if (rows.length === 0) break;
      items.push(...(await followed(this.connection, this.pattern, rows)));
      if (size === Infinity) break;
    }
    return items.slice(0, want === Infinity ? undefined : want);
  }
}

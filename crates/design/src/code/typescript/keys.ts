// ---------------------------------------------------------------------------
// Keys: how values are written into keys and read back.
// ---------------------------------------------------------------------------

/** A value that does not fit its field, or a key that cannot be built or parsed. */
export class InvalidValue extends Error {
  override name = "InvalidValue";
}

interface Format {
  readonly kind: string;
  readonly width?: number;
  readonly scale?: number;
  readonly max?: number;
  readonly values?: readonly string[];
  readonly plain?: boolean;
  readonly desc?: boolean;
  readonly fold?: "lower" | "upper";
  readonly compact?: boolean;
}

interface Codec {
  readonly separator: string;
  readonly escape: "reject" | "percent" | "order" | "none";
}

const VERBATIM: Codec = { separator: "", escape: "none" };
/** The greatest character: no value contains it, so it closes ranges. */
const SENTINEL = "\u{10FFFF}";
const utf8 = new TextEncoder();

/** The order of UTF-8 bytes, which is not that of JavaScript's strings. */
function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let at = 0; at < left.length && at < right.length; at++) {
    const order = codeOf(left[at]) - codeOf(right[at]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function codeOf(text: string | undefined): number {
  return text?.codePointAt(0) ?? 0;
}

function byteLength(text: string): number {
  return utf8.encode(text).length;
}

function escaped(text: string, codec: Codec): string {
  const percent = codec.escape === "percent";
  if (!percent && codec.escape !== "order") return text;
  const mark = percent ? 0x25 : codec.separator.charCodeAt(0) + 1;
  const isMarked = (c: string) =>
    percent ? c === "%" || codec.separator.includes(c) : codeOf(c) <= mark;
  const write = (byte: number) =>
    String.fromCharCode(mark) +
    byte.toString(16).toUpperCase().padStart(2, "0");
  const written = [...text].map((c) =>
    isMarked(c) ? [...utf8.encode(c)].map(write).join("") : c,
  );
  return written.join("");
}

function unescaped(text: string, codec: Codec): string {
  const percent = codec.escape === "percent";
  if (!percent && codec.escape !== "order") return text;
  const mark = percent ? 0x25 : codec.separator.charCodeAt(0) + 1;
  const bytes = utf8.encode(text);
  const raw: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === mark) {
      const digits = String.fromCharCode(...bytes.slice(at + 1, at + 3));
      raw.push(parseInt(digits, 16));
      at += 2;
    } else {
      raw.push(byte);
    }
  }
  return new TextDecoder().decode(Uint8Array.from(raw));
}

/** Whether a value contains the separator, or ends so that it would be found too early. */
function collides(text: string, separator: string): boolean {
  if (separator === "") return false;
  if (text.includes(separator)) return true;
  for (let overlap = 1; overlap < separator.length; overlap++) {
    const tail = separator.slice(overlap);
    const head = separator.slice(0, overlap);
    if (separator.startsWith(tail) && text.endsWith(head)) return true;
  }
  return false;
}

function isText(format: Format): boolean {
  return ["string", "token", "fixed", "enum", "loose"].includes(format.kind);
}

function folded(format: Format, text: string): string {
  const change = (c: string) =>
    format.fold === "lower" ? c.toLowerCase() : c.toUpperCase();
  return format.fold === undefined ? text : text.replace(/[A-Za-z]/g, change);
}

function checkText(format: Format, text: string): void {
  if (text === "") throw new InvalidValue("a text in a key is never empty");
  if (format.kind === "enum" && !format.values?.includes(text)) {
    const values = format.values?.join(", ");
    throw new InvalidValue(`\`${text}\` is not one of ${values}`);
  }
  if (format.kind === "token" && !/^[A-Za-z0-9._-]*$/.test(text)) {
    throw new InvalidValue(
      `\`${text}\` has more than letters, digits, \`-\`, \`.\` and \`_\``,
    );
  }
  const bytes = byteLength(text);
  if (format.kind === "fixed" && bytes !== format.width) {
    throw new InvalidValue(`\`${text}\` is not ${format.width} bytes long`);
  }
  if (format.max !== undefined && bytes > format.max) {
    throw new InvalidValue(`\`${text}\` is over ${format.max} bytes long`);
  }
  if (text.includes(SENTINEL)) {
    throw new InvalidValue("U+10FFFF is reserved for the ends of ranges");
  }
}

function complementedHex(hex: string, isClosed: boolean): string {
  const turn = (digit: string) => (15 - parseInt(digit, 16)).toString(16);
  return hex.replace(/[0-9a-f]/g, turn) + (isClosed ? "~" : "");
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
}

function bytesOf(hex: string): Uint8Array {
  const pairs = hex.match(/../g) ?? [];
  return Uint8Array.from(pairs.map((pair) => parseInt(pair, 16)));
}

function writeText(format: Format, value: string, codec: Codec): string {
  const text = folded(format, value);
  checkText(format, text);
  if (format.desc) {
    return complementedHex(hexOf(utf8.encode(text)), format.kind !== "fixed");
  }
  if (format.kind === "fixed") return text;
  if (codec.escape === "reject" && collides(text, codec.separator)) {
    throw new InvalidValue(
      `\`${text}\` contains the separator \`${codec.separator}\` or ends with a part of it`,
    );
  }
  return escaped(text, codec);
}

function writeHex(format: Format, value: unknown): string {
  const hex = String(value).toLowerCase();
  const bytes = hex.length / 2;
  const fits =
    /^([0-9a-f]{2})+$/.test(hex) &&
    (format.width === undefined || bytes === format.width) &&
    (format.max === undefined || bytes <= format.max);
  if (!fits) {
    throw new InvalidValue(`\`${String(value)}\` is not hex of its length`);
  }
  return format.desc ? complementedHex(hex, format.width === undefined) : hex;
}

// Times. Precisions from the year (0) to the millisecond (6).

interface Time {
  readonly ms: number;
  readonly precision: number;
}

const UNITS = [0, 0, 86_400_000, 3_600_000, 60_000, 1000, 1];
const PRECISIONS: Record<string, number> = {
  year: 0,
  month: 1,
  date: 2,
  hour: 3,
  datetime: 5,
  datetime_ms: 6,
  epoch_ms: 6,
};
const FIRST_MS = -62_167_219_200_000;
const LAST_MS = 253_402_300_799_999;
const TIME =
  /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|z|[+-]\d\d:\d\d)?)?)?)?$/;

function momentOf(parts: readonly number[]): number {
  const [year = 0, month = 1, day = 1, h = 0, min = 0, s = 0, ms = 0] = parts;
  const date = new Date(Date.UTC(2000, month - 1, day, h, min, s, ms));
  date.setUTCFullYear(year, month - 1, day);
  const isReal =
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day &&
    h < 24 &&
    min < 60 &&
    s < 60;
  return isReal ? date.getTime() : NaN;
}

function parseTime(text: string): Time {
  const found = TIME.exec(text);
  const wrong = new InvalidValue(
    `\`${text}\` is not a UTC time such as 2024-01-15 or 2024-01-15T10:30:00Z`,
  );
  if (found === null) throw wrong;
  const texts: (string | undefined)[] = found.slice(1);
  const fraction = texts[6];
  if (fraction !== undefined && /[1-9]/.test(fraction.slice(3))) throw wrong;
  texts[6] = fraction?.slice(0, 3).padEnd(3, "0");
  const parts = texts.slice(0, 7).filter((part) => part !== undefined);
  let ms = momentOf(parts.map(Number));
  const offset = texts[7] ?? "Z";
  if (offset.length > 1) {
    const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4));
    ms -= (offset.startsWith("-") ? -minutes : minutes) * 60_000;
  }
  if (Number.isNaN(ms)) throw wrong;
  return { ms, precision: parts.length - 1 };
}

function digits(value: number | bigint, width: number): string {
  return value.toString().padStart(width, "0");
}

/** A moment as ISO 8601 shows it with a precision. */
function timeText(ms: number, precision: number): string {
  const iso = new Date(ms).toISOString();
  if (precision === 5) return `${iso.slice(0, 19)}Z`;
  return precision === 6 ? iso : iso.slice(0, [4, 7, 10, 13, 16][precision]);
}

/** The number of a period. */
function periodOf(ms: number, precision: number): number {
  const date = new Date(ms);
  if (precision === 0) return date.getUTCFullYear();
  if (precision === 1) return date.getUTCFullYear() * 12 + date.getUTCMonth();
  return Math.floor(ms / (UNITS[precision] ?? 1));
}

/** The first moment of a period. */
function startOf(period: number, precision: number): number {
  if (precision === 0) return momentOf([period]);
  if (precision === 1) {
    return momentOf([Math.floor(period / 12), (period % 12) + 1]);
  }
  return period * (UNITS[precision] ?? 1);
}

/** The last millisecond that a time covers. */
function lastOf(time: Time): number {
  const next = periodOf(time.ms, time.precision) + 1;
  return startOf(next, time.precision) - 1;
}

/** A time as a program gives it: ISO 8601, milliseconds since 1970, or a `Date`. */
function timeOf(value: unknown): Time {
  if (value instanceof Date) return { ms: value.getTime(), precision: 6 };
  if (typeof value === "number" || typeof value === "bigint") {
    return { ms: Number(value), precision: 6 };
  }
  const text = String(value);
  if (/^\d{5,}$/.test(text)) return { ms: Number(text), precision: 6 };
  return parseTime(text.replace(/^(\d{4}-\d\d-\d\d)-(\d\d)$/, "$1T$2"));
}

// Scalars are numbered in their order, so that one arithmetic serves all ranges.

const WHOLE: Record<string, [bigint, bigint]> = {
  u8: [0n, 255n],
  u16: [0n, 65_535n],
  u32: [0n, 4_294_967_295n],
  shard: [0n, 4_294_967_295n],
  u64: [0n, 18_446_744_073_709_551_615n],
  i64: [-9_223_372_036_854_775_808n, 9_223_372_036_854_775_807n],
};
const ID_BITS = (1n << 128n) - 1n;
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The least and greatest number of a scalar; nothing for texts and hex. */
function bounds(format: Format): [bigint, bigint] | undefined {
  const most = 10n ** BigInt(format.width ?? 38) - 1n;
  const whole = WHOLE[format.kind];
  if (whole !== undefined) {
    const [low, high] = whole;
    return [low < -most ? -most : low, high > most ? most : high];
  }
  if (format.kind === "decimal") return [-most, most];
  if (format.kind === "bool") return [0n, 1n];
  if (format.kind === "uuid" || format.kind === "ulid") return [0n, ID_BITS];
  if (format.kind === "epoch_ms") {
    return [0n, most < BigInt(LAST_MS) ? most : BigInt(LAST_MS)];
  }
  const precision = PRECISIONS[format.kind];
  if (precision === undefined) return undefined;
  const [first, last] = [FIRST_MS, LAST_MS].map((ms) =>
    BigInt(periodOf(ms, precision)),
  );
  return [first ?? 0n, last ?? 0n];
}

function wholeOf(value: unknown): bigint {
  const text = typeof value === "object" ? numberText(value) : String(value);
  if (!/^-?\d+$/.test(text)) {
    throw new InvalidValue(`\`${text}\` is not a whole number`);
  }
  return BigInt(text);
}

/** A decimal in units of its last place, rounded down, and whether that was exact. */
function unscaled(value: unknown, scale: number): [bigint, boolean] {
  const text = typeof value === "object" ? numberText(value) : String(value);
  const found = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (found === null) throw new InvalidValue(`\`${text}\` is not a decimal`);
  const [, sign, whole = "", fraction = ""] = found;
  const kept = fraction.slice(0, scale).padEnd(scale, "0");
  const exact = !/[1-9]/.test(fraction.slice(scale));
  const size = BigInt(whole + kept);
  if (sign !== "-") return [size, exact];
  return [exact ? -size : -size - 1n, exact];
}

function idOf(format: Format, value: unknown): bigint {
  const text = String(value);
  if (format.kind === "uuid") {
    if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) {
      return BigInt(`0x${text.replaceAll("-", "")}`);
    }
  } else if (/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i.test(text)) {
    const add = (sum: bigint, c: string) =>
      sum * 32n + BigInt(CROCKFORD.indexOf(c));
    return [...text.toUpperCase()].reduce(add, 0n);
  }
  throw new InvalidValue(`\`${text}\` is not a ${format.kind}`);
}

function idText(format: Format, bits: bigint): string {
  if (format.kind === "uuid") {
    const hex = bits.toString(16).padStart(32, "0");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
  const digit = (at: number) =>
    CROCKFORD[Number((bits >> BigInt(5 * (25 - at))) & 31n)] ?? "";
  return Array.from({ length: 26 }, (_, at) => digit(at)).join("");
}

/** The first and the last number that a value covers: a day given for a time covers many. */
function spanOf(format: Format, value: unknown): [bigint, bigint] {
  const precision = PRECISIONS[format.kind];
  if (precision !== undefined) {
    const time = timeOf(value);
    const floor = periodOf(time.ms, precision);
    const first = startOf(floor, precision) === time.ms ? floor : floor + 1;
    return [BigInt(first), BigInt(periodOf(lastOf(time), precision))];
  }
  if (format.kind === "decimal") {
    const [floor, exact] = unscaled(value, format.scale ?? 0);
    return [exact ? floor : floor + 1n, floor];
  }
  const point = pointOf(format, value);
  return [point, point];
}

/** The number of a value that goes into a key as it is. */
function pointOf(format: Format, value: unknown): bigint {
  const precision = PRECISIONS[format.kind];
  if (precision !== undefined) {
    const time = timeOf(value);
    if (time.precision < Math.min(precision, 5)) {
      throw new InvalidValue(`${String(value)} is a period, not a moment`);
    }
    if (precision === 5 && time.ms % 1000 !== 0) {
      throw new InvalidValue(`${String(value)} is finer than whole seconds`);
    }
    return BigInt(periodOf(time.ms, precision));
  }
  if (format.kind === "decimal") {
    const [floor, exact] = unscaled(value, format.scale ?? 0);
    if (exact) return floor;
    throw new InvalidValue(`${String(value)} has too many digits`);
  }
  if (format.kind === "bool") {
    if (typeof value === "boolean") return value ? 1n : 0n;
    throw new InvalidValue(`${String(value)} is not true or false`);
  }
  if (format.kind === "uuid" || format.kind === "ulid") {
    return idOf(format, value);
  }
  return wholeOf(value);
}

function complementedDigits(text: string): string {
  return text.replace(/\d/g, (digit) => String(9 - Number(digit)));
}

function pad(sign: bigint, size: bigint, format: Format, most: bigint): string {
  const width = format.width ?? 0;
  const text = digits(sign < 0n ? most - size : size, width);
  const scale = format.scale ?? 0;
  const point =
    scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`;
  return (sign < 0n ? "-" : "0") + point;
}

function writePoint(format: Format, point: bigint): string {
  const [least, greatest] = bounds(format) ?? [0n, 0n];
  if (point < least || point > greatest) {
    throw new InvalidValue(
      `${shown(format, point)} is not between ${shown(format, least)} and ${shown(format, greatest)}`,
    );
  }
  if (format.plain || format.kind === "shard") return point.toString();
  if (format.kind === "i64" || format.kind === "decimal") {
    const value = format.desc ? -point : point;
    const most = 10n ** BigInt(format.width ?? 0) - 1n;
    return pad(value, value < 0n ? -value : value, format, most);
  }
  if (format.kind === "uuid" || format.kind === "ulid") {
    return idText(format, format.desc ? ID_BITS - point : point);
  }
  if (format.kind === "bool")
    return (point === 1n) === !format.desc ? "1" : "0";
  let text = digits(point, format.width ?? 0);
  const precision = PRECISIONS[format.kind];
  if (precision !== undefined && format.kind !== "epoch_ms") {
    text = timeText(startOf(Number(point), precision), precision);
    if (precision === 3) text = text.replace("T", "-");
    if (format.compact) text = text.replace(/[-:]/g, "");
  }
  return format.desc ? complementedDigits(text) : text;
}

/** A number of a scalar as programs know the value. */
function shown(format: Format, point: bigint): string {
  return String(valueAt(format, point));
}

function valueAt(
  format: Format,
  point: bigint,
): string | number | bigint | boolean {
  if (format.kind === "bool") return point === 1n;
  if (format.kind === "uuid" || format.kind === "ulid") {
    return idText(format, point);
  }
  if (format.kind === "decimal") {
    const size = digits(point < 0n ? -point : point, (format.scale ?? 0) + 1);
    const scale = format.scale ?? 0;
    const sign = point < 0n ? "-" : "";
    if (scale === 0) return sign + size;
    return `${sign}${size.slice(0, -scale)}.${size.slice(-scale)}`;
  }
  const precision = PRECISIONS[format.kind];
  if (precision !== undefined && format.kind !== "epoch_ms") {
    return timeText(startOf(Number(point), precision), precision);
  }
  const isSmall = (format.width ?? 0) <= 15 || format.kind === "shard";
  return isSmall ? Number(point) : point;
}

/** How a value is written into a key. */
function write(format: Format, value: unknown, codec: Codec): string {
  if (isText(format)) return writeText(format, String(value), codec);
  if (format.kind === "hex") return writeHex(format, value);
  return writePoint(format, pointOf(format, value));
}

function readSigned(format: Format, text: string): bigint {
  const body = text.slice(1).replace(".", "");
  const isNegative = text.startsWith("-");
  const size = BigInt(isNegative ? complementedDigits(body) : body);
  return isNegative === (format.desc ?? false) ? size : -size;
}

function readPoint(format: Format, text: string): bigint {
  if (format.plain || format.kind === "shard") return wholeOf(text);
  if (format.kind === "i64" || format.kind === "decimal") {
    return readSigned(format, text);
  }
  if (format.kind === "uuid" || format.kind === "ulid") {
    const bits = idOf(format, text);
    return format.desc ? ID_BITS - bits : bits;
  }
  if (format.kind === "bool") return (text === "1") === !format.desc ? 1n : 0n;
  const number = text.replace(/\D/g, "");
  const plain = format.desc ? complementedDigits(number) : number;
  const precision = PRECISIONS[format.kind];
  if (precision === undefined || format.kind === "epoch_ms") {
    return BigInt(plain);
  }
  const found = /^(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d{3})?$/.exec(
    plain,
  );
  const parts = found?.slice(1).filter((part) => part !== undefined) ?? [];
  const ms = momentOf(parts.map(Number));
  if (Number.isNaN(ms)) throw new InvalidValue(`\`${text}\` is not a time`);
  return BigInt(periodOf(ms, precision));
}

function readText(format: Format, text: string, codec: Codec): string {
  if (!format.desc) {
    return format.kind === "fixed" ? text : unescaped(text, codec);
  }
  const hex = complementedHex(text.replace(/~$/, ""), false);
  return new TextDecoder().decode(bytesOf(hex));
}

/** The value that a part of a key stands for. Only what `write` writes is read. */
function read(format: Format, text: string, codec: Codec): unknown {
  let value: unknown;
  if (isText(format)) {
    value = readText(format, text, codec);
  } else if (format.kind === "hex") {
    const hex = text.replace(/~$/, "");
    value = format.desc ? complementedHex(hex, false) : hex;
  } else {
    value = valueAt(format, readPoint(format, text));
  }
  if (write(format, value, codec) !== text) {
    throw new InvalidValue(
      `\`${text}\` is not how a ${format.kind} is written`,
    );
  }
  return value;
}

/** A value as text: what shards are calculated from. */
function display(format: Format, value: unknown): string {
  if (format.kind === "epoch_ms") return timeText(timeOf(value).ms, 6);
  if (isText(format)) return folded(format, String(value));
  if (bounds(format) === undefined) return String(value);
  return String(valueAt(format, pointOf(format, value)));
}

// Templates.

type Piece = string | { readonly field: string; readonly format: Format };

/** A key template: literal text and fields. */
class Template {
  constructor(
    readonly text: string,
    readonly pieces: readonly Piece[],
    readonly codec: Codec,
    readonly limit: number,
  ) {}

  static parse(
    text: string,
    formatOf: (field: string) => Format,
    codec: Codec,
    limit: number,
  ): Template {
    const pieces: Piece[] = [];
    for (const [part, field] of text.matchAll(
      /\{\{|\}\}|\{([^}]*)\}|[^{}]+/g,
    )) {
      const last = pieces.at(-1);
      const literal = part === "{{" || part === "}}" ? part.slice(1) : part;
      if (field !== undefined) {
        pieces.push({ field, format: formatOf(field) });
      } else if (typeof last === "string") {
        pieces[pieces.length - 1] = last + literal;
      } else {
        pieces.push(literal);
      }
    }
    return new Template(text, pieces, codec, limit);
  }

  fields(): string[] {
    return this.pieces.flatMap((p) => (typeof p === "string" ? [] : [p.field]));
  }

  /** The key of these values; they are all there. */
  build(valueOf: (field: string) => unknown): string {
    const part = (piece: Piece) => {
      if (typeof piece === "string") return piece;
      try {
        return write(piece.format, valueOf(piece.field), this.codec);
      } catch (error) {
        throw new InvalidValue(`field \`${piece.field}\`: ${reasonOf(error)}`);
      }
    };
    const key = this.pieces.map(part).join("");
    if (byteLength(key) > this.limit) {
      throw new InvalidValue(
        `the key of \`${this.text}\` is over ${this.limit} bytes long`,
      );
    }
    return key;
  }

  /** The values of the fields of a key. */
  parse(key: string): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    let rest = key;
    this.pieces.forEach((piece, at) => {
      if (typeof piece === "string") {
        if (!rest.startsWith(piece)) {
          throw new InvalidValue(`\`${key}\` is no key of \`${this.text}\``);
        }
        rest = rest.slice(piece.length);
        return;
      }
      const part = rest.slice(0, this.extent(at, piece.format, rest));
      values[piece.field] = read(piece.format, part, this.codec);
      rest = rest.slice(part.length);
    });
    if (rest !== "") {
      throw new InvalidValue(`\`${rest}\` is left over of \`${key}\``);
    }
    return values;
  }

  /** How long the field at the start of the rest of a key is. */
  private extent(at: number, format: Format, rest: string): number {
    const own = fixedWidth(format);
    if (own !== undefined) return lengthOfBytes(rest, own);
    let tail = 0;
    for (const next of this.pieces.slice(at + 1)) {
      if (typeof next !== "string") {
        tail += fixedWidth(next.format) ?? 0;
        continue;
      }
      const { separator } = this.codec;
      const guarded = isText(format) && !format.desc;
      const stop =
        guarded && next.startsWith(separator) ? separator : next.slice(0, 1);
      const end = rest.indexOf(stop);
      if (end < 0) throw new InvalidValue(`no \`${stop}\` follows in the key`);
      return end - tail;
    }
    return rest.length - tail;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function lengthOfBytes(text: string, bytes: number): number {
  let [left, length] = [bytes, 0];
  for (const c of text) {
    if (left <= 0) break;
    left -= byteLength(c);
    length += c.length;
  }
  return length;
}

/** How many bytes every value has in a key; nothing if that varies. */
function fixedWidth(format: Format): number | undefined {
  const { kind, width, scale } = format;
  if (format.plain || kind === "shard") return undefined;
  const precision = PRECISIONS[kind];
  if (precision !== undefined && kind !== "epoch_ms") {
    const marked = [4, 7, 10, 13, 16, 20, 24][precision] ?? 0;
    const marks = [0, 1, 2, 3, 3, 4, 4][precision] ?? 0;
    return format.compact ? marked - marks : marked;
  }
  if (kind === "i64") return (width ?? 0) + 1;
  if (kind === "decimal") return (width ?? 0) + ((scale ?? 0) > 0 ? 2 : 1);
  if (kind === "uuid") return 36;
  if (kind === "ulid") return 26;
  if (kind === "bool") return 1;
  if (width === undefined) return undefined;
  if (kind === "hex" || (kind === "fixed" && format.desc)) return 2 * width;
  return width;
}

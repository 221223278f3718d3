// DynamoDB's values. Numbers stay texts everywhere: 38 digits do not fit into JavaScript's numbers.

export type Attribute =
  | { S: string }
  | { N: string }
  | { B: string }
  | { BOOL: boolean }
  | { NULL: boolean }
  | { SS: string[] }
  | { NS: string[] }
  | { BS: string[] }
  | { L: Attribute[] }
  | { M: Item };

export interface Item {
  [name: string]: Attribute;
}

export type Kind = "S" | "N" | "B" | "BOOL" | "NULL" | "SS" | "NS" | "BS" | "L" | "M";

export const KINDS: Record<Kind, string> = {
  S: "text",
  N: "number",
  B: "binary",
  BOOL: "yes or no",
  NULL: "null",
  SS: "set of texts",
  NS: "set of numbers",
  BS: "set of binaries",
  L: "list",
  M: "map",
};

export function kindOf(value: Attribute): Kind {
  return Object.keys(value)[0] as Kind;
}

/** What is inside, whatever its kind. */
export function inner(value: Attribute): unknown {
  return Object.values(value)[0] as unknown;
}

// Control and direction characters would hide what a value is, or reorder what stands beside it.
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const isHidden = (text: string) => text.search(HIDDEN) >= 0;

/** A text on one line, with invisible characters made visible. */
export function visible(text: string): string {
  if (!isHidden(text)) return text;
  return text.replace(HIDDEN, (c) => {
    const code = c.charCodeAt(0);
    if (c === "\n") return "↵";
    if (c === "\t") return "⇥";
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `‹${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
}

const clip = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text);

export function base64Length(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.max(0, (text.length / 4) * 3 - padding);
}

/** The first bytes of a binary as hexadecimal digits. */
export function hex(base64: string, most = 24): string {
  try {
    const start = atob(base64.slice(0, Math.ceil(most / 3) * 4));
    const digits = Array.from(start.slice(0, most), (c) => c.charCodeAt(0).toString(16).padStart(2, "0"));
    return digits.join(" ") + (base64Length(base64) > most ? " …" : "");
  } catch {
    return clip(base64, most);
  }
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${(count / 1024).toFixed(count < 10240 ? 1 : 0)} KB`;
  if (count < 1024 ** 3) return `${(count / 1024 ** 2).toFixed(1)} MB`;
  if (count < 1024 ** 4) return `${(count / 1024 ** 3).toFixed(1)} GB`;
  return `${(count / 1024 ** 4).toFixed(1)} TB`;
}

/** A value on one line, never longer than `most` characters or so, however large the value is. */
export function oneLine(value: Attribute, most = 160): string {
  if ("S" in value) return visible(clip(value.S, most));
  if ("N" in value) return value.N;
  if ("B" in value) return `${hex(value.B, 12)} (${bytes(base64Length(value.B))})`;
  if ("BOOL" in value) return String(value.BOOL);
  if ("NULL" in value) return "null";
  if ("SS" in value) return members(value.SS.length, (n) => quoted(value.SS[n] ?? "", most), "{", "}", most);
  if ("NS" in value) return members(value.NS.length, (n) => value.NS[n] ?? "", "{", "}", most);
  if ("BS" in value) return members(value.BS.length, (n) => hex(value.BS[n] ?? "", 8), "{", "}", most);
  if ("L" in value) return members(value.L.length, (n) => nested(value.L[n], most), "[", "]", most);
  const names = Object.keys(value.M);
  const member = (n: number) =>
    `${visible(clip(names[n] ?? "", 40))}: ${nested(value.M[names[n] ?? ""], most)}`;
  return members(names.length, member, "{", "}", most);
}

const quoted = (text: string, most: number) => `"${visible(clip(text, most))}"`;

function nested(value: Attribute | undefined, most: number): string {
  if (!value) return "";
  return "S" in value ? quoted(value.S, most) : oneLine(value, Math.max(10, most / 2));
}

function members(
  count: number,
  member: (n: number) => string,
  open: string,
  close: string,
  most: number,
): string {
  let text = open;
  for (let n = 0; n < count; n++) {
    if (text.length > most) return `${text}, … ${count}${close}`;
    text += (n ? ", " : "") + member(n);
  }
  return text + close;
}

const utf8 = new TextEncoder();

/** The size of a value by DynamoDB's rules, near enough to show. */
export function sizeOf(value: Attribute): number {
  if ("S" in value) return utf8.encode(value.S).length;
  if ("N" in value) return Math.ceil(value.N.replace(/[-+.]|e.*$/gi, "").length / 2) + 1;
  if ("B" in value) return base64Length(value.B);
  if ("BOOL" in value || "NULL" in value) return 1;
  if ("SS" in value) return value.SS.reduce((sum, text) => sum + utf8.encode(text).length, 0);
  if ("NS" in value) return value.NS.reduce((sum, N) => sum + sizeOf({ N }), 0);
  if ("BS" in value) return value.BS.reduce((sum, text) => sum + base64Length(text), 0);
  if ("L" in value) return 3 + value.L.reduce((sum, member) => sum + 1 + sizeOf(member), 0);
  return 3 + itemSize(value.M) + Object.keys(value.M).length;
}

export function itemSize(item: Item): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + utf8.encode(name).length + sizeOf(value),
    0,
  );
}

/** Whether two values are the same; sets and maps have no order, numbers are compared as they are written. */
export function same(a: Attribute | undefined, b: Attribute | undefined): boolean {
  return a === b || (!!a && !!b && canonical(a) === canonical(b));
}

function canonical(value: Attribute): string {
  if ("M" in value) {
    const names = Object.keys(value.M).sort();
    return `M{${names.map((name) => `${JSON.stringify(name)}:${canonical(value.M[name]!)}`).join()}}`;
  }
  if ("L" in value) return `L[${value.L.map(canonical).join()}]`;
  const kind = kindOf(value);
  const within = inner(value);
  return `${kind}${JSON.stringify(Array.isArray(within) ? [...(within as string[])].sort() : within)}`;
}

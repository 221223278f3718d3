// Long files in pieces of whole rows, each of which fits into one request.

/** Small enough for any server and for steady progress. */
export const PIECE = 4 << 20;

const [NEWLINE, QUOTE, COMMA] = [10, 34, 44];

export interface Rows {
  bytes: Uint8Array<ArrayBuffer>;
  /** What turns a line number of the piece into one of the file. */
  linesBefore: number;
}

/** Where cells of CSV begin and end: a line ends inside of quotes without ending the row. */
class Cells {
  private state: "start" | "plain" | "quoted" | "closed" = "start";

  /** Takes one byte; whether a row ends with it. */
  endsRow(byte: number): boolean {
    if (this.state === "quoted") {
      if (byte === QUOTE) this.state = "closed";
      return false;
    }
    if (byte === QUOTE && this.state !== "plain") this.state = "quoted";
    else this.state = byte === COMMA || byte === NEWLINE ? "start" : "plain";
    return byte === NEWLINE;
  }
}

/** The rows of a file in pieces of some `PIECE` bytes; each of CSV begins with the names of the columns. */
export async function* pieces(content: ReadableStream<Uint8Array>, isCsv: boolean): AsyncGenerator<Rows> {
  const cells = new Cells();
  const endsRow = isCsv ? (byte: number) => cells.endsRow(byte) : (byte: number) => byte === NEWLINE;
  let header: { bytes: Uint8Array; lines: number } | null = null;
  let waiting: Uint8Array[] = [];
  let [size, lines] = [0, 0];
  // Up to the end of the last whole row among what waits.
  let [whole, linesOfWhole, linesBefore] = [0, 0, 0];
  for (const reader = content.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) break;
    waiting.push(value);
    for (let at = 0; at < value.length; at++) {
      const byte = value[at]!;
      if (byte === NEWLINE) lines++;
      if (!endsRow(byte)) continue;
      [whole, linesOfWhole] = [size + at + 1, lines];
      if (isCsv && !header) header = { bytes: joined(waiting).slice(0, whole), lines };
    }
    size += value.length;
    if (size < PIECE || whole === 0 || whole === header?.bytes.length) continue;
    const all = joined(waiting);
    yield { bytes: all.slice(0, whole), linesBefore };
    linesBefore = linesOfWhole - (header?.lines ?? 0);
    waiting = header ? [header.bytes, all.subarray(whole)] : [all.subarray(whole)];
    size = waiting.reduce((sum, one) => sum + one.length, 0);
    whole = header?.bytes.length ?? 0;
  }
  if (size > (linesBefore ? (header?.bytes.length ?? 0) : 0)) yield { bytes: joined(waiting), linesBefore };
}

function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

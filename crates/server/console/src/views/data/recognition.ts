// Which entity an item is of, and what the parts of its keys are: asked of the server for the rows in sight only.
import { useEffect, useRef, useState } from "preact/hooks";
import { recognize, type Recognized } from "../../server/api";
import { designOf } from "../../server/state";
import { kindOf, type Item } from "../../values/attribute";

const BATCH = 200;
const LONG = 2048;

/** Keys and short values are enough to recognise an item by. */
function trimmed(item: Item): Item {
  const small: Item = {};
  for (const [name, value] of Object.entries(item)) {
    const kind = kindOf(value);
    const text = (value as Record<string, unknown>)[kind];
    if (typeof text !== "string" || text.length <= LONG)
      small[name] = kind === "L" || kind === "M" ? { NULL: true } : value;
  }
  return small;
}

export type Recognise = (item: Item) => Recognized | undefined;

/** A function that tells what is known of an item, and asks for what is not. */
export function useRecognition(table: string): Recognise {
  const known = useRef(new WeakMap<Item, Recognized | "asked">());
  const queue = useRef<Item[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const [, setRound] = useState(0);
  const design = designOf(table);
  useEffect(() => {
    known.current = new WeakMap();
    queue.current = [];
    setRound((n) => n + 1);
    return () => {
      if (timer.current) clearTimeout(timer.current);
      timer.current = null;
    };
  }, [table, design]);

  const flush = async () => {
    timer.current = null;
    const items = queue.current.splice(0, BATCH);
    if (!items.length || !design) return;
    try {
      const told = await recognize(design.name, table, items.map(trimmed));
      items.forEach((item, n) => told[n] && known.current.set(item, told[n]));
      setRound((n) => n + 1);
    } catch {
      // Keys stay without colours; the rows themselves are there.
    }
    if (queue.current.length) timer.current = setTimeout(() => void flush(), 0);
  };
  return (item) => {
    if (!design) return undefined;
    const found = known.current.get(item);
    if (found === "asked") return undefined;
    if (found) return found;
    known.current.set(item, "asked");
    queue.current.push(item);
    timer.current ??= setTimeout(() => void flush(), 0);
    return undefined;
  };
}

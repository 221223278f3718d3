// Browse: a table or one of its indexes, a page at a time, by key, by entity or all of it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { amend, route } from "../../router";
import type { Entity } from "../../server/api";
import { places, primaryKey, type TableDescription } from "../../server/dynamo";
import { entitiesOf, readOnly } from "../../server/state";
import type { Item } from "../../values/attribute";
import { Button, count, Empty, Failure, Loading, save } from "../../ui/parts";
import { complain, tell } from "../../ui/toasts";
import { toDynamoJson } from "../../values/json";
import {
  goBack,
  isQuery,
  readAsked,
  readPage,
  startAfter,
  type Answer,
  type Asked,
  type SortOp,
} from "./query";
import { useRecognition } from "./recognition";
import { Rows } from "./rows";
import { create, remove } from "./write";

const OPS: [SortOp, string][] = [
  ["begins", "begins with"],
  ["=", "="],
  ["<", "<"],
  ["<=", "≤"],
  [">", ">"],
  [">=", "≥"],
  ["between", "between"],
];

/** The literal beginning of a template, for finding an entity's items in a scan. */
function literalPrefix(entity: Entity, attribute: string | undefined): string {
  const pieces = entity.keys.find((key) => key.attribute === attribute)?.pieces ?? [];
  let prefix = "";
  for (const piece of pieces) {
    if (!("literal" in piece)) break;
    prefix += piece.literal;
  }
  return prefix;
}

function Form({ asked, table }: { asked: Asked; table: TableDescription }) {
  const all = places(table);
  const [pk, setPk] = useState(asked.partition);
  const [sk, setSk] = useState(asked.sort);
  const [to, setTo] = useState(asked.sortTo);
  const [op, setOp] = useState<SortOp>(asked.sortOp);
  const key = JSON.stringify([asked.partition, asked.sort, asked.sortTo, asked.sortOp, asked.place.index]);
  useEffect(() => {
    setPk(asked.partition);
    setSk(asked.sort);
    setTo(asked.sortTo);
    setOp(asked.sortOp);
  }, [key]);
  const entities = entitiesOf(table.TableName);
  const entity = route.value.query.get("entity") ?? "";
  const submit = (event?: Event) => {
    event?.preventDefault();
    amend({
      pk: pk[0],
      pk2: pk[1],
      pk3: pk[2],
      pk4: pk[3],
      sk,
      to,
      op: op === "begins" ? null : op,
      from: null,
      item: null,
    });
  };
  const chooseEntity = (name: string) => {
    const chosen = entities.find((candidate) => candidate.name === name);
    const cleared: Record<string, string | null> = {};
    for (const prefix of Object.keys(asked.prefixes)) cleared[`prefix.${prefix}`] = null;
    if (chosen) {
      for (const attribute of [asked.place.partitionKey[0], asked.place.sortKey[0]]) {
        if (attribute) cleared[`prefix.${attribute}`] = literalPrefix(chosen, attribute) || null;
      }
    }
    amend({ entity: name || null, from: null, item: null, pk: null, sk: null, ...cleared });
  };
  return (
    <form class="ask" onSubmit={submit} aria-label="What to show">
      <label>
        View
        <select
          value={asked.place.index ?? ""}
          onChange={(event) =>
            amend({
              index: event.currentTarget.value || null,
              pk: null,
              pk2: null,
              sk: null,
              from: null,
              entity: null,
            })
          }
        >
          {all.map((place) => (
            <option key={place.index ?? ""} value={place.index ?? ""}>
              {place.index ?? "table"} ({[...place.partitionKey, ...place.sortKey].join(", ")})
            </option>
          ))}
        </select>
      </label>
      {entities.length > 0 && (
        <label>
          Entity
          <select value={entity} onChange={(event) => chooseEntity(event.currentTarget.value)}>
            <option value="">all</option>
            {entities.map((candidate) => (
              <option key={candidate.name}>{candidate.name}</option>
            ))}
          </select>
        </label>
      )}
      {asked.place.partitionKey.map((name, n) => (
        <label key={name} class="wide">
          {name}
          <input
            type="text"
            data-search={n === 0 ? true : undefined}
            spellcheck={false}
            placeholder={n ? "" : "all partitions ( / )"}
            value={pk[n] ?? ""}
            onInput={(event) => setPk(pk.map((old, at) => (at === n ? event.currentTarget.value : old)))}
          />
        </label>
      ))}
      {asked.place.sortKey[0] && (
        <label class="wide">
          {asked.place.sortKey[0]}
          <span class="joined">
            <select
              aria-label="Comparison"
              value={op}
              onChange={(event) => setOp(event.currentTarget.value as SortOp)}
            >
              {OPS.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
            <input
              type="text"
              spellcheck={false}
              aria-label={`Value of ${asked.place.sortKey[0]}`}
              value={sk}
              disabled={!pk[0]}
              onInput={(event) => setSk(event.currentTarget.value)}
            />
            {op === "between" && (
              <input
                type="text"
                aria-label="and"
                value={to}
                onInput={(event) => setTo(event.currentTarget.value)}
              />
            )}
          </span>
        </label>
      )}
      <label>
        Order
        <select
          value={asked.backward ? "back" : ""}
          disabled={!isQuery(asked)}
          onChange={(event) => amend({ dir: event.currentTarget.value || null, from: null })}
        >
          <option value="">ascending</option>
          <option value="back">descending</option>
        </select>
      </label>
      <Button kind="primary" type="submit">
        Show
      </Button>
    </form>
  );
}

const MOST_LOADED = 100_000;

/** Rows of the present page, and of as many after it as were asked for. */
function useRows(asked: Asked, round: number) {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [loading, setLoading] = useState(true);
  const [filling, setFilling] = useState(false);
  const abort = useRef<AbortController | null>(null);
  const key = JSON.stringify([
    asked.table.TableName,
    asked.place.index,
    asked.partition,
    asked.sort,
    asked.sortTo,
    asked.sortOp,
    asked.backward,
    asked.prefixes,
    asked.limit,
    asked.start,
  ]);
  useEffect(() => {
    const mine = (abort.current = new AbortController());
    setLoading(true);
    setFilling(false);
    readPage(asked, mine.signal).then(
      (page) => {
        if (mine.signal.aborted) return;
        setAnswer(page);
        setError(null);
        setLoading(false);
      },
      (error: unknown) => {
        if (mine.signal.aborted) return;
        setError(error);
        setAnswer(null);
        setLoading(false);
      },
    );
    return () => mine.abort();
  }, [key, round]);
  const fill = async () => {
    const mine = abort.current;
    let all = answer;
    setFilling(true);
    let drawn = performance.now();
    try {
      while (all?.next && all.rows.length < MOST_LOADED && !mine?.signal.aborted) {
        const page: Answer = await readPage({ ...asked, start: all.next, limit: 1000 }, mine?.signal);
        all = {
          ...page,
          rows: all.rows.concat(page.rows),
          units: all.units + page.units,
          scanned: all.scanned + page.scanned,
          body: all.body,
          ms: all.ms + page.ms,
        };
        if (performance.now() - drawn > 250 || !page.next) {
          setAnswer(all);
          drawn = performance.now();
        }
      }
      if (!mine?.signal.aborted) setAnswer(all);
    } catch (error) {
      if (!mine?.signal.aborted) complain(error);
    }
    setFilling(false);
  };
  const drop = (gone: Set<Item>) =>
    setAnswer((now) => now && { ...now, rows: now.rows.filter((row) => !gone.has(row)) });
  return { answer, error, loading, filling, fill, drop };
}

function Pager(props: { asked: Asked; answer: Answer; filling: boolean; fill: () => void }) {
  const { asked, answer } = props;
  const first = answer.rows[0];
  return (
    <div class="pager" role="group" aria-label="Pages">
      <Button
        icon="first"
        aria-label="First page"
        disabled={!asked.start}
        onClick={() => amend({ from: null, item: null })}
      />
      <Button
        icon="left"
        aria-label="Previous page"
        disabled={!asked.start}
        onClick={() => (isQuery(asked) && first ? void goBack(asked, first).catch(complain) : history.back())}
      >
        Previous
      </Button>
      <Button
        aria-label="Next page"
        disabled={!answer.next}
        onClick={() => {
          const last = answer.rows.at(-1);
          const from = answer.rows.length === asked.limit && last ? startAfter(asked, last) : answer.next;
          amend({ from: JSON.stringify(from), item: null });
        }}
      >
        Next
      </Button>
      <Button kind="quiet" disabled={!answer.next || props.filling} onClick={props.fill}>
        {props.filling ? "Loading…" : "Load all"}
      </Button>
      <select
        aria-label="Rows per page"
        value={String(asked.limit)}
        onChange={(event) => amend({ limit: event.currentTarget.value, from: null })}
      >
        {["25", "50", "100", "250", "1000"].map((size) => (
          <option key={size} value={size}>
            {size} rows
          </option>
        ))}
      </select>
    </div>
  );
}

interface BrowseProps {
  table: TableDescription;
  round: number;
  openItem: (item: Item) => void;
}

export function Browse({ table, round, openItem }: BrowseProps) {
  const all = useMemo(() => places(table), [table]);
  const asked = readAsked(table, all);
  const place = asked.place;
  const { answer, error, loading, filling, fill, drop } = useRows(asked, round);
  const recognise = useRecognition(table.TableName);
  const [selected, setSelected] = useState(new Set<Item>());
  useEffect(() => setSelected(new Set()), [answer?.body]);
  const collections =
    (route.value.query.get("show") ?? "collections") === "collections" && place.sortKey.length > 0;

  const eraseSelected = async () => {
    const gone: Item[] = [];
    const dropped = new Set<Item>();
    let failed: unknown = null;
    for (const item of selected) {
      try {
        gone.push(await remove(table, item));
        dropped.add(item);
      } catch (error) {
        failed = error;
        break;
      }
    }
    drop(dropped);
    setSelected(new Set());
    const undo = async () => {
      for (const item of gone) await create(table, item);
      tell(`${gone.length} items are back`);
      amend({ r: String(Date.now() % 100000) }, true);
    };
    if (gone.length)
      tell(`${gone.length} items deleted`, { title: "Undo", run: () => void undo().catch(complain) });
    if (failed) complain(failed);
  };
  const exportSelected = () => {
    const lines = [...selected].map((item) => JSON.stringify({ Item: item }));
    save(`${table.TableName}.json`, new Blob([lines.join("\n") + "\n"], { type: "application/json" }));
  };
  const current = route.value.query.get("item");
  const whole = place.projection === "ALL";
  return (
    <div class="browse">
      <Form asked={asked} table={table} />
      {error ? (
        <Failure error={error} />
      ) : !answer ? (
        <Loading what="Reading items" />
      ) : (
        <>
          <div class="bar">
            <span class="note" aria-live="polite">
              {count(answer.rows.length)} {answer.rows.length === 1 ? "row" : "rows"}
              {answer.scanned > answer.rows.length && `, ${count(answer.scanned)} read`}, {answer.units} RU,{" "}
              {Math.round(answer.ms)} ms
              {loading && " …"}
            </span>
            <details class="request">
              <summary>{answer.operation}</summary>
              <pre tabIndex={0}>{toDynamoJson(answer.body as unknown as Item)}</pre>
            </details>
            {selected.size > 0 && (
              <span class="selection">
                {selected.size} selected
                <Button kind="quiet" icon="download" onClick={exportSelected}>
                  Export
                </Button>
                {!readOnly.value && whole && (
                  <Button kind="danger" icon="trash" onClick={() => void eraseSelected()}>
                    Delete
                  </Button>
                )}
              </span>
            )}
            <span class="spacer" />
            {place.sortKey.length > 0 && (
              <label class="inline check">
                <input
                  type="checkbox"
                  checked={collections}
                  onChange={() => amend({ show: collections ? "rows" : null }, true)}
                />
                Collections
              </label>
            )}
            <Pager asked={asked} answer={answer} filling={filling} fill={() => void fill()} />
          </div>
          {answer.rows.length ? (
            <Rows
              table={table}
              place={place}
              items={answer.rows}
              recognise={recognise}
              collections={collections}
              selected={selected}
              select={setSelected}
              open={openItem}
              current={current}
            />
          ) : (
            <Empty>
              {isQuery(asked)
                ? "This partition has no such items."
                : answer.next
                  ? "None of the items read so far. Go on with Next."
                  : "There are no items."}
            </Empty>
          )}
        </>
      )}
    </div>
  );
}

/** The address part that names an item. */
export const itemAddress = (table: TableDescription, item: Item) => JSON.stringify(primaryKey(table, item));

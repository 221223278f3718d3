// Heat map: which keys are read and written when, and on which partitions AWS would have them.
import { useEffect, useMemo, useState } from "preact/hooks";
import { amend, go, route } from "../../router";
import { readHeat, type Heat, type HeatKey, type Measure } from "../../server/api";
import { places } from "../../server/dynamo";
import { description, designs, info, tables } from "../../server/state";
import { dark } from "../../ui/theme";
import { Button, brief, Empty, Failure, Loading, Tabs, useLoaded } from "../../ui/parts";
import { visible } from "../../values/attribute";
import { HeatCanvas } from "./canvas";
import { colourOf, peak, type Window } from "./picture";
import { OpenRecording } from "./open";
import { recording } from "./recording";

const HOUR = 3600_000;
const SPANS: [string, string, number][] = [
  ["15m", "15 min", HOUR / 4],
  ["3h", "3 hours", 3 * HOUR],
  ["1d", "1 day", 24 * HOUR],
  ["3d", "3 days", 72 * HOUR],
];
const MEASURES: [Measure, string][] = [
  ["reads", "Reads"],
  ["writes", "Writes"],
  ["refused", "Refused"],
];

function useHeat(table: string, index: string | null, what: Measure, paused: boolean) {
  const query = route.value.query;
  const span = SPANS.find(([name]) => name === (query.get("span") ?? "3h"))?.[2] ?? 3 * HOUR;
  const from = Number(query.get("from")) || null;
  const to = Number(query.get("to")) || null;
  const file = recording.value;
  const loaded = useLoaded(
    async (signal): Promise<Heat | null> => {
      if (file) return readHeat({ table, index, from, to, what }, signal, file.text);
      const end = to ?? Date.now();
      return readHeat({ table, index, from: from ?? end - span, to: end, what }, signal);
    },
    [table, index, what, span, from, to, file],
  );
  useEffect(() => {
    if (paused || to || file) return;
    const timer = setInterval(() => !document.hidden && loaded.again(), Math.max(2000, span / 3600));
    return () => clearInterval(timer);
  }, [paused, to, file, span]);
  return loaded;
}

/** Rows in sight; the time in sight is asked of the server. */
function useWindow(heat: Heat | undefined | null): Window {
  const rows = (route.value.query.get("rows") ?? "").split("-").map(Number);
  const columns = heat?.columns ?? 1;
  const all = heat?.rows ?? 1;
  const top = Math.max(0, Math.min(all - 1, rows[0] || 0));
  const bottom = Math.max(top + 1, Math.min(all, rows[1] || all));
  return useMemo(() => ({ left: 0, right: columns, top, bottom }), [columns, top, bottom]);
}

function Keys(props: {
  keys: HeatKey[];
  what: Measure;
  mark: (row: number | null) => void;
  open: (key: string) => void;
}) {
  const sorted = [...props.keys]
    .sort((a, b) => b[props.what] - a[props.what])
    .filter((key) => key[props.what] > 0);
  const most = sorted[0]?.[props.what] ?? 1;
  if (!sorted.length) return <Empty>No keys stand out.</Empty>;
  return (
    <ol class="hot-keys">
      {sorted.slice(0, 40).map((key) => (
        <li key={key.key} onPointerEnter={() => props.mark(key.row)} onPointerLeave={() => props.mark(null)}>
          <button
            type="button"
            class="link"
            onFocus={() => props.mark(key.row)}
            onBlur={() => props.mark(null)}
            onClick={() => props.open(key.key)}
          >
            <bdi class="key">{visible(key.key.slice(0, 200))}</bdi>
          </button>
          <span class="figure">{brief(key[props.what])}</span>
          <span class="note">{[key.entity, key.pattern].filter(Boolean).join(" · ")}</span>
          <span class="share" aria-hidden="true" style={{ width: `${(key[props.what] / most) * 100}%` }} />
        </li>
      ))}
    </ol>
  );
}

/** What the figures count. */
const unitOf = (what: Measure) => (what === "refused" ? "requests" : "units");

/** Where no request is refused, why the map is empty, and what AWS would have refused. */
function NoRefusals({ heat }: { heat: Heat }) {
  const throttle = info.value?.throttle;
  if (recording.value || /^(enforce|inject)/.test(throttle ?? "")) return null;
  const sum = (of: (partition: Heat["partitions"][number]) => number | undefined) =>
    heat.partitions.reduce((all, partition) => all + (of(partition) ?? 0), 0);
  const [reads, writes] = [sum((it) => it.refusedReads), sum((it) => it.refusedWrites)];
  return (
    <p class="hint" role="note">
      {throttle ? (
        <>
          This server refuses nothing for its throughput: it was started with{" "}
          <code>--throttle {throttle}</code>.
        </>
      ) : (
        <>Refusals are counted by servers that were started with </>
      )}{" "}
      {throttle ? "Refusals are on the map with " : ""}
      <code>--throttle enforce</code> or <code>inject</code>.
      {reads + writes > 0 && (
        <>
          {" "}
          AWS would have refused {brief(reads)} reads and {brief(writes)} writes of the partitions that are
          drawn here.
        </>
      )}
    </p>
  );
}

function Legend({ most, what }: { most: number; what: Measure }) {
  const isDark = dark.value;
  return (
    <div class="legend" aria-hidden="true">
      <span>0</span>
      {Array.from({ length: 24 }, (_, n) => (
        <i
          key={n}
          style={{ background: colourOf(Math.expm1((n / 23) * Math.log1p(Math.max(1, most))), most, isDark) }}
        />
      ))}
      <span>
        {brief(most)} {unitOf(what)}
      </span>
    </div>
  );
}

function PlaceChoice({ table, index }: { table: string; index: string | null }) {
  const recorded = recording.value?.places;
  const described = useLoaded(
    () => (recorded ? Promise.resolve(null) : description(table)),
    [table, recorded],
  );
  const names = recorded ? [...new Set(recorded.map((place) => place.table))] : (tables.value ?? []);
  const views = recorded
    ? recorded.filter((place) => place.table === table)
    : described.value
      ? places(described.value)
      : [];
  return (
    <>
      <label class="inline">
        Table
        {names.length > 500 ? (
          <input type="text" value={table} onChange={(event) => go(["heat", event.currentTarget.value])} />
        ) : (
          <select value={table} onChange={(event) => go(["heat", event.currentTarget.value])}>
            {(names.includes(table) ? names : [table, ...names]).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </label>
      <label class="inline">
        View
        <select
          value={index ?? ""}
          onChange={(event) => amend({ index: event.currentTarget.value || null, rows: null })}
        >
          {views.map((place) => (
            <option key={place.index ?? ""} value={place.index ?? ""}>
              {place.index ?? "table"}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

/** Shows the same table of a recording, if it has it. */
function showRecorded(): void {
  const recorded = recording.value?.places.map((place) => place.table) ?? [];
  const now = route.value.path[1];
  go(["heat", now && recorded.includes(now) ? now : (recorded[0] ?? "")]);
}

export function HeatView() {
  const query = route.value.query;
  const table =
    route.value.path[1] ??
    recording.value?.places[0]?.table ??
    designs.value[0]?.tables[0]?.name ??
    tables.value?.[0] ??
    "";
  const index = query.get("index");
  const what = (query.get("what") as Measure | null) ?? "reads";
  const span = query.get("from") ? "" : (query.get("span") ?? "3h");
  const [paused, setPaused] = useState(false);
  const [marked, setMarked] = useState<number | null>(null);
  const loaded = useHeat(table, index, what, paused);
  const heat = loaded.value;
  const seen = useWindow(heat);
  const zoomed = !!query.get("from") || !!query.get("rows");
  const reset = () => amend({ from: null, to: null, rows: null });
  const zoom = (window: Window) => {
    if (!heat) return;
    const columns = window.right - window.left === seen.right - seen.left ? null : window;
    amend({
      from: columns ? String(Math.round(heat.start + window.left * heat.step)) : query.get("from"),
      to: columns ? String(Math.round(heat.start + window.right * heat.step)) : query.get("to"),
      rows: window.bottom - window.top < heat.rows ? `${window.top}-${window.bottom}` : null,
    });
  };
  const openKey = (key: string) => go(["data", table], { pk: key, index });
  if (info.value?.features?.heat === false && !recording.value) {
    return (
      <div class="heat">
        <div class="title-bar">
          <h1>Heat map</h1>
          <OpenRecording opened={showRecorded} />
        </div>
        <Empty>This endpoint keeps no heat. A recording can be opened.</Empty>
      </div>
    );
  }
  if (!table) return <Empty>There are no tables yet.</Empty>;
  return (
    <div class="heat">
      <div class="title-bar">
        <h1>Heat map</h1>
        <PlaceChoice table={table} index={index} />
        <Tabs label="What to show" tabs={MEASURES} value={what} change={(next) => amend({ what: next })} />
        <Tabs
          label="How long"
          tabs={SPANS.map(([name, title]): [string, string] => [name, title])}
          value={span}
          change={(next) => amend({ span: next, from: null, to: null })}
        />
        <span class="spacer" />
        {zoomed && (
          <Button kind="quiet" onClick={reset}>
            Whole map
          </Button>
        )}
        <Button
          kind="quiet"
          icon={paused ? "play" : "pause"}
          aria-pressed={paused}
          onClick={() => setPaused(!paused)}
        >
          {paused ? "Go on" : "Pause"}
        </Button>
        <OpenRecording opened={showRecorded} />
      </div>
      {loaded.error ? (
        <Failure error={loaded.error} retry={loaded.again} />
      ) : !heat ? (
        <Loading what="Reading the heat" />
      ) : (
        <div class="heat-body">
          <div class="map-side">
            {what === "refused" && <NoRefusals heat={heat} />}
            <HeatCanvas
              heat={heat}
              seen={seen}
              zoom={zoom}
              reset={reset}
              marked={marked}
              open={openKey}
              unit={unitOf(what)}
            />
            <Legend most={peak(heat, seen)} what={what} />
          </div>
          <section class="panel keys-panel" aria-label="Hot keys">
            <header>
              <h2>Hot keys</h2>
              <span class="note">{what === "refused" ? "refused requests" : `${what}, units`}</span>
            </header>
            <div class="scrolled" tabIndex={0}>
              <Keys keys={heat.keys} what={what} mark={setMarked} open={openKey} />
            </div>
          </section>
        </div>
      )}
    </div>
  );
}

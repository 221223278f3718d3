// Migration: how far each one is. They are run by `keyloom migrate`, which keeps their state in rows of the database itself.
import { useEffect } from "preact/hooks";
import { href } from "../router";
import { readMigrations, type MigrationRow } from "../server/api";
import { info } from "../server/state";
import { Badge, Button, count, Empty, Failure, Loading, Panel, useLoaded } from "../ui/parts";

const PHASES = ["expand", "backfill", "sweep", "follow", "switch", "contract"];

interface Copied {
  table: string;
  done: number;
  of: number;
  items: number;
}

interface State {
  id: string;
  row: MigrationRow;
  tables: Copied[];
}

/** One state for each migration, from its rows: the phase, and the segments of its tables. */
function statesOf(rows: MigrationRow[]): State[] {
  const states = rows
    .filter((row) => row.sk === "PHASE")
    .map((row): State => ({ id: row.pk, row, tables: [] }));
  for (const row of rows) {
    const state = states.find((candidate) => candidate.id === row.pk);
    if (!state || !row.sk.startsWith("SEGMENT#") || !row.table) continue;
    let table = state.tables.find((candidate) => candidate.table === row.table);
    if (!table) state.tables.push((table = { table: row.table, done: 0, of: row.of ?? 0, items: 0 }));
    table.done += row.done ? 1 : 0;
    table.items += row.items ?? 0;
  }
  return states;
}

function Phases({ now }: { now: string }) {
  const at = PHASES.findIndex((phase) => now.startsWith(phase));
  return (
    <ol class="phases" aria-label={`Phase: ${now}`}>
      {PHASES.map((phase, n) => (
        <li
          key={phase}
          class={n < at ? "done" : n === at ? "now" : ""}
          aria-current={n === at ? "step" : undefined}
        >
          {phase}
        </li>
      ))}
    </ol>
  );
}

const time = (ms: number | null | undefined) => (ms ? new Date(ms).toLocaleString("en-GB") : "not yet");

function Migration({ state }: { state: State }) {
  const { row } = state;
  const phase = row.phase ?? "";
  return (
    <Panel
      title={state.tables.map((copied) => copied.table).join(", ") || state.id}
      aside={<Badge kind="info">{phase}</Badge>}
    >
      <Phases now={phase} />
      <dl class="facts">
        <dt>Programs use</dt>
        <dd>the {row.side} form</dd>
        <dt>Begun</dt>
        <dd>{time(row.started_ms)}</dd>
        <dt>Runner last seen</dt>
        <dd>{time(row.seen_ms)}</dd>
        <dt>Every item compared</dt>
        <dd>{time(row.verified_ms)}</dd>
        {(row.generation ?? 1) > 1 && <dt>Copied again</dt>}
        {(row.generation ?? 1) > 1 && (
          <dd>{(row.generation ?? 1) - 1} times, because the stream lost records</dd>
        )}
        {state.tables.map((copied) => [
          <dt key={copied.table}>
            <a href={href(["data", copied.table])}>
              <bdi>{copied.table}</bdi>
            </a>
          </dt>,
          <dd key={`${copied.table} copied`}>
            <progress
              value={copied.done}
              max={copied.of || 1}
              aria-label={`Segments of ${copied.table} that are copied`}
            />{" "}
            {copied.done} of {copied.of} segments, {count(copied.items)} items read
          </dd>,
        ])}
      </dl>
    </Panel>
  );
}

export function MigrationView() {
  const loaded = useLoaded(readMigrations, []);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && loaded.again(), 3000);
    return () => clearInterval(timer);
  }, []);
  const states = statesOf(loaded.value ?? []);
  return (
    <div class="doctor">
      <div class="title-bar">
        <h1>Migration</h1>
        <span class="spacer" />
        <Button kind="quiet" icon="refresh" onClick={loaded.again}>
          Look again
        </Button>
      </div>
      {info.value?.features?.migrate === false ? (
        <Empty>Migrations cannot be looked at here.</Empty>
      ) : loaded.error ? (
        <Failure error={loaded.error} retry={loaded.again} />
      ) : !loaded.value ? (
        <Loading />
      ) : states.length ? (
        states.map((state) => <Migration key={state.id} state={state} />)
      ) : (
        <Empty>
          No migration is recorded in this database. <code>keyloom migrate run old.toml new.toml</code> begins
          one.
        </Empty>
      )}
    </div>
  );
}

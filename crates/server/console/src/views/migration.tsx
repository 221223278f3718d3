// Migration: how far each one is. They are run by `keyloom migrate`, which keeps their state in rows of the database itself.
import { useEffect } from "preact/hooks";
import { href } from "../router";
import { readMigrations, type Migration } from "../server/api";
import { info } from "../server/state";
import { Badge, brief, Button, count, Empty, Failure, Loading, Panel, Tile, useLoaded } from "../ui/parts";
import { Prose } from "../ui/prose";

const PHASES: [string, string][] = [
  ["expand", "Tables and streams are made"],
  ["backfill", "Items are copied"],
  ["sweep", "Leftovers of the copy go"],
  ["follow", "Changes are carried over"],
  ["switch", "Programs change over"],
  ["contract", "The old form goes"],
];
/** After so long without a word, a runner has stopped; another may take over. */
const SILENCE_MS = 60_000;

const isOver = (phase: string) => phase === "contracted" || phase === "rolled back";

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** Where it is; one that was rolled back leaves the steps where they ended. */
function Phases({ migration }: { migration: Migration }) {
  const { phase, side } = migration;
  // Once programs use the new form, following goes backwards, and contracting comes next.
  const name = phase === "follow" && side === "new" ? "switch" : phase;
  const at = phase === "contracted" ? PHASES.length : PHASES.findIndex(([known]) => known === name);
  return (
    <ol class="phases" aria-label={`Phase: ${phase}`}>
      {PHASES.map(([known, meaning], n) => (
        <li
          key={known}
          class={n < at ? "done" : n === at ? "now" : ""}
          aria-current={n === at ? "step" : undefined}
          title={meaning}
        >
          {known}
        </li>
      ))}
    </ol>
  );
}

const time = (ms: number) => new Date(ms).toLocaleString("en-GB");

/** What the runner does, in figures; of a runner that has stopped, what it did last. */
function Work({ migration }: { migration: Migration }) {
  const { runner, phase } = migration;
  const copying = phase === "backfill";
  if (!runner) return null;
  return (
    <div class="tiles">
      {copying && (
        <Tile
          title="Items/s"
          value={runner.items_per_s === null ? "–" : brief(runner.items_per_s)}
          note="in the last seconds"
        />
      )}
      {copying && (
        <Tile
          title="Remaining"
          value={migration.remaining_s === null ? "–" : duration(migration.remaining_s)}
          note={`about ${brief(migration.remaining)} items`}
        />
      )}
      <Tile
        title="Lag"
        value={runner.lag_ms ? duration(runner.lag_ms / 1000) : "none"}
        note={`${brief(runner.changes)} changes carried over`}
        kind={runner.lag_ms > 60_000 ? "warning" : ""}
      />
      <Tile
        title="Units used"
        value={brief(runner.read_units + runner.write_units)}
        note={`${brief(runner.read_units)} read, ${brief(runner.write_units)} write`}
      />
      <Tile
        title="Not movable"
        value={count(runner.problems)}
        note={runner.problems ? "keyloom migrate verify lists them" : "items"}
        kind={runner.problems ? "error" : ""}
      />
    </div>
  );
}

function Copied({ migration }: { migration: Migration }) {
  return (
    <>
      {migration.tables.map((table) => (
        <div class="copied" key={table.name}>
          <a href={href(["data", table.name])}>
            <bdi>{table.name}</bdi>
          </a>
          <progress
            value={table.segments_done === table.segments ? 1 : table.items}
            max={table.segments_done === table.segments ? 1 : Math.max(table.of_items, table.items, 1)}
            aria-label={`Items of ${table.name} that are copied`}
          />
          <span>
            {table.segments_done === table.segments
              ? `${count(table.items)} items copied`
              : `${count(table.items)} of about ${count(Math.max(table.of_items, table.items))} items`}
            , {table.segments_done} of {table.segments} segments
          </span>
        </div>
      ))}
    </>
  );
}

/** What comes next, and who does it. */
function next({ phase, side, verified_ms }: Migration): string {
  if (phase === "contracted") return "It is over: the new design is the only one.";
  if (phase === "rolled back") return "It is over: the old design is the only one again.";
  if (phase === "rollback") return "It is being rolled back: the new form goes.";
  if (phase === "contract") return "The old form is being removed.";
  if (side === "new")
    return "`keyloom migrate contract` ends it; until then `rollback` leads back, and loses nothing.";
  if (phase === "follow") {
    const verified = verified_ms ? "" : "`keyloom migrate verify` compares every item; ";
    return `${verified}\`keyloom migrate switch\` moves programs to the new form.`;
  }
  return "Programs go on as before while items are copied.";
}

function State({ migration }: { migration: Migration }) {
  const silent = migration.now_ms - migration.seen_ms;
  const over = isOver(migration.phase);
  return (
    <Panel
      title={migration.tables.map((table) => table.name).join(", ") || migration.id}
      aside={
        over ? (
          <Badge kind="good">{migration.phase}</Badge>
        ) : silent > SILENCE_MS ? (
          <Badge kind="warning">runner stopped</Badge>
        ) : (
          <Badge kind="info">running</Badge>
        )
      }
    >
      <Phases migration={migration} />
      <Copied migration={migration} />
      <Work migration={migration} />
      <dl class="facts">
        <dt>Programs use</dt>
        <dd>the {migration.side} form</dd>
        <dt>Next</dt>
        <dd>
          <Prose text={next(migration)} />
        </dd>
        <dt>Begun</dt>
        <dd>{time(migration.started_ms)}</dd>
        <dt>Runner last seen</dt>
        <dd>
          {time(migration.seen_ms)}
          {!over && silent > SILENCE_MS && (
            <>
              {" "}
              · <code>keyloom migrate run</code> goes on where it stopped
            </>
          )}
        </dd>
        <dt>Every item compared</dt>
        <dd>
          {migration.verified_ms
            ? time(migration.verified_ms)
            : migration.side === "new"
              ? "not since the switch, which did"
              : "not yet"}
        </dd>
        {migration.generation > 1 && (
          <>
            <dt>Copied again</dt>
            <dd>{migration.generation - 1} times, because the stream lost records</dd>
          </>
        )}
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
      ) : loaded.value.length ? (
        loaded.value.map((migration) => <State key={migration.id} migration={migration} />)
      ) : (
        <Empty>
          No migration is recorded in this database. <code>keyloom migrate run old.toml new.toml</code> begins
          one.
        </Empty>
      )}
    </div>
  );
}

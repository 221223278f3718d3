// Migration: how far each one is. They are run by `keyloom migrate`, which keeps their state in the database.
import { useEffect } from "preact/hooks";
import { readMigrations } from "../server/api";
import { info } from "../server/state";
import { Badge, Button, Empty, Failure, Loading, Panel, useLoaded } from "../ui/parts";

type Fact = [string, unknown];

const PHASES = ["expand", "backfill", "sweep", "follow", "switch", "contract"];

function factsOf(value: unknown): Fact[] {
  return value && typeof value === "object" ? Object.entries(value) : [];
}

function Value({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span class="absent">–</span>;
  if (Array.isArray(value)) {
    if (!value.length) return <span class="absent">none</span>;
    return (
      <ul class="plain">
        {value.slice(0, 50).map((member, n) => (
          <li key={n}>
            <Value value={member} />
          </li>
        ))}
      </ul>
    );
  }
  if (typeof value === "object") {
    return (
      <span class="pairs">
        {factsOf(value).map(([name, member]) => (
          <span key={name}>
            <span class="note">{name.replace(/_/g, " ")}</span> <Value value={member} />
          </span>
        ))}
      </span>
    );
  }
  return <bdi class="text">{String(value)}</bdi>;
}

function Phases({ now }: { now: string }) {
  const at = PHASES.findIndex((phase) => now.toLowerCase().startsWith(phase));
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

function Migration({ state }: { state: unknown }) {
  const facts = factsOf(state);
  const get = (name: string) => facts.find(([fact]) => fact === name)?.[1];
  const phase = String(get("phase") ?? "");
  const name = String(get("name") ?? get("id") ?? get("migration") ?? "Migration");
  return (
    <Panel title={<bdi>{name}</bdi>} aside={phase && <Badge kind="info">{phase}</Badge>}>
      {phase && <Phases now={phase} />}
      <dl class="facts">
        {facts
          .filter(([fact]) => fact !== "phase" && fact !== "name")
          .flatMap(([fact, value]) => [
            <dt key={fact}>{fact.replace(/_/g, " ")}</dt>,
            <dd key={`${fact} value`}>
              <Value value={value} />
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
  const all = loaded.value ?? [];
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
      ) : all.length ? (
        all.map((state, n) => <Migration key={n} state={state} />)
      ) : (
        <Empty>
          No migration is recorded in this database. <code>keyloom migrate run old.toml new.toml</code> begins
          one.
        </Empty>
      )}
    </div>
  );
}

// What is there and what happens: tables, live requests, findings, servers.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { href, go } from "../router";
import { readCluster, readDoctor, readTables, type DoctorFinding, type TableSummary } from "../server/api";
import { info, stats, statsError, watchStats, type Moment, type Stats } from "../server/state";
import { Chart } from "../ui/chart";
import { Grid, type Column } from "../ui/grid";
import { Badge, brief, count, Empty, Failure, Loading, Panel, Tile, useLoaded } from "../ui/parts";
import { Prose } from "../ui/prose";
import { bytes } from "../values/attribute";

/** The load of all tables, second by second; an index's units count, its requests are those of its table. */
function perSecond(report: Stats): Map<number, Moment> {
  const sums = new Map<number, Moment>();
  for (const place of report.places) {
    for (const second of place.seconds) {
      const at = sums.get(second.start_ms) ?? {
        start_ms: second.start_ms,
        requests: 0,
        reads: 0,
        writes: 0,
        throttled: 0,
      };
      at.requests += second.requests;
      at.reads += second.reads;
      at.writes += second.writes;
      at.throttled += second.throttled;
      sums.set(second.start_ms, at);
    }
  }
  return sums;
}

const WINDOW_S = 120;
const NONE: Moment = { start_ms: 0, requests: 0, reads: 0, writes: 0, throttled: 0 };

/** The last two minutes; the second that is not over yet is left out. */
function recent(report: Stats): { times: number[]; moments: Moment[] } {
  const sums = perSecond(report);
  const end = Math.floor(Math.max(Date.now(), report.until_ms) / 1000) - 1;
  const times = Array.from({ length: WINDOW_S }, (_, n) => end - WINDOW_S + 1 + n);
  return { times, moments: times.map((time) => sums.get(time * 1000) ?? NONE) };
}

function mean(moments: Moment[], of: (moment: Moment) => number): number {
  const last = moments.slice(-5);
  return last.reduce((sum, moment) => sum + of(moment), 0) / Math.max(1, last.length);
}

function Tiles({
  report,
  findings,
  total,
}: {
  report: Stats | null;
  findings: DoctorFinding[];
  total: number | null;
}) {
  const moments = report ? recent(report).moments : [];
  const items = report?.tables.reduce((sum, table) => sum + table.items, 0) ?? 0;
  const size = report?.tables.reduce((sum, table) => sum + table.bytes, 0) ?? 0;
  const indexes = report?.tables.reduce((sum, table) => sum + table.indexes.length, 0) ?? 0;
  const refused = report?.places.reduce(
    (sum, place) => sum + Object.values(place.throttled).reduce((a, b) => a + b, 0),
    0,
  );
  const errors = findings.filter((finding) => finding.severity === "error").length;
  const warnings = findings.filter((finding) => finding.severity === "warning").length;
  return (
    <div class="tiles">
      <Tile
        title="Tables"
        value={count(total ?? report?.tables.length ?? 0)}
        note={`${count(indexes)} indexes`}
      />
      <Tile title="Items" value={brief(items)} note={bytes(size)} />
      <Tile
        title="Requests/s"
        value={brief(mean(moments, (m) => m.requests))}
        note={`${brief(report?.requests ?? 0)} seen`}
      />
      <Tile title="Read units/s" value={brief(mean(moments, (m) => m.reads))} />
      <Tile title="Write units/s" value={brief(mean(moments, (m) => m.writes))} />
      <Tile
        title="Throttled/s"
        value={brief(mean(moments, (m) => m.throttled))}
        note={`${count(refused ?? 0)} in all`}
        kind={refused ? "warning" : ""}
      />
      <Tile
        title="Findings"
        value={count(findings.length)}
        note={`${errors} ${errors === 1 ? "error" : "errors"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}`}
        kind={errors ? "error" : warnings ? "warning" : ""}
      />
    </div>
  );
}

function Live({ report }: { report: Stats }) {
  const { times, moments } = useMemo(() => recent(report), [report]);
  const lines = useMemo(
    () => [
      { label: "Read units", colour: "--reads", values: moments.map((m) => m.reads) },
      { label: "Write units", colour: "--writes", values: moments.map((m) => m.writes) },
      { label: "Throttled", colour: "--bad", values: moments.map((m) => m.throttled) },
    ],
    [moments],
  );
  return <Chart label="Units per second" times={times} lines={lines} height={190} />;
}

const COLUMNS: Column<TableSummary>[] = [
  { name: "Table", width: 230, cell: (table) => <bdi class="strong">{table.name}</bdi> },
  {
    name: "Key",
    width: 150,
    cell: (table) => (
      <bdi class="mono">{[table.partitionKey, table.sortKey].flat().filter(Boolean).join(", ")}</bdi>
    ),
  },
  {
    name: "Indexes",
    width: 170,
    cell: (table) => <bdi class="mono">{table.indexes.map((i) => i.name).join(", ") || "–"}</bdi>,
  },
  { name: "Items", width: 90, align: "right", cell: (table) => count(table.items) },
  { name: "Size", width: 90, align: "right", cell: (table) => bytes(table.bytes) },
  { name: "Billing", width: 110, cell: (table) => table.billing ?? "–" },
  {
    name: "Status",
    width: 100,
    cell: (table) => (
      <Badge kind={table.status === "ACTIVE" ? "good" : "warning"}>{table.status.toLowerCase()}</Badge>
    ),
  },
];

/** All tables, a page of a hundred at a time as the list is scrolled. */
function Tables({ told }: { told: (total: number) => void }) {
  const [contains, setContains] = useState("");
  const [rows, setRows] = useState<TableSummary[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const [loaded, setLoaded] = useState(false);
  const next = useRef<string | null>(null);
  const busy = useRef(false);
  const load = async (from: string | undefined, signal?: AbortSignal) => {
    busy.current = true;
    try {
      const page = await readTables({ from, contains }, signal);
      if (signal?.aborted) return;
      next.current = page.next ?? null;
      setRows((before) => (from ? [...before, ...page.tables] : page.tables));
      if (page.total != null && !contains) told(page.total);
      setError(null);
      setLoaded(true);
    } catch (error) {
      if (!signal?.aborted) setError(error);
    } finally {
      busy.current = false;
    }
  };
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => void load(undefined, abort.signal), contains ? 150 : 0);
    return () => (clearTimeout(timer), abort.abort());
  }, [contains, round]);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && !next.current && setRound((n) => n + 1), 5000);
    return () => clearInterval(timer);
  }, []);
  const search = (
    <input
      type="search"
      data-search
      placeholder="Filter tables ( / )"
      aria-label="Filter tables"
      value={contains}
      onInput={(event) => setContains(event.currentTarget.value)}
    />
  );
  return (
    <Panel title="Tables" aside={search} class="tables">
      {error ? (
        <Failure error={error} retry={() => setRound(round + 1)} />
      ) : !loaded ? (
        <Loading what="Listing tables" />
      ) : rows.length ? (
        <Grid
          label="Tables"
          columns={COLUMNS}
          rows={rows}
          maxHeight={420}
          open={(table) => go(["data", table.name])}
          reachedEnd={() => {
            if (next.current && !busy.current) void load(next.current);
          }}
        />
      ) : (
        <Empty>{contains ? "No table has that in its name." : "There are no tables yet."}</Empty>
      )}
    </Panel>
  );
}

function Findings({ findings }: { findings: DoctorFinding[] }) {
  if (!findings.length) return <Empty>Nothing to report yet.</Empty>;
  return (
    <ul class="brief-findings">
      {findings.slice(0, 6).map((finding, n) => (
        <li key={n}>
          <Badge kind={finding.severity}>{finding.severity}</Badge>
          <a href={href(["doctor"])}>
            <bdi>{finding.place}</bdi>: <Prose text={finding.title} />
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Who shares the store, and who does which job; asked again now and then. */
function Servers() {
  const cluster = useLoaded(readCluster, []);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && cluster.again(), 5000);
    return () => clearInterval(timer);
  }, []);
  const known = cluster.value;
  if (cluster.error) return <Failure error={cluster.error} retry={cluster.again} />;
  if (!known) return <Loading />;
  return (
    <Panel
      title="Servers"
      aside={
        <span class="note">
          on one store · round trip {(known.round_trip_us / 1000).toFixed(1)} ms · the figures above are of
          the server that shows this page
        </span>
      }
    >
      <div class="scrolled" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Server</th>
              <th>State</th>
              <th>Version</th>
              <th>Up since</th>
              <th>Last heard of</th>
              <th>Jobs</th>
            </tr>
          </thead>
          <tbody>
            {known.servers.map((server) => (
              <tr key={server.id} title={server.id}>
                <td>
                  <bdi class="mono">{server.endpoint}</bdi>
                </td>
                <td>
                  <Badge kind={server.alive ? "good" : "error"}>{server.alive ? "alive" : "silent"}</Badge>
                  {(server.epochs_behind ?? 0) > 0 && (
                    <Badge kind="warning">{server.epochs_behind} table changes behind</Badge>
                  )}
                </td>
                <td>{server.version}</td>
                <td>{new Date(server.started_ms).toLocaleString("en-GB")}</td>
                <td>{(server.silent_ms / 1000).toFixed(0)} s ago</td>
                <td>
                  {known.jobs
                    .filter((job) => job.holder === server.id)
                    .map((job) => job.name.replace(/^keyloom-/, ""))
                    .join(", ") || "–"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

export function Overview() {
  const features = info.value?.features ?? {};
  useEffect(() => (features.stats === false ? undefined : watchStats()), []);
  const [total, setTotal] = useState<number | null>(null);
  const doctor = useLoaded(() => (features.doctor ? readDoctor() : Promise.resolve({ findings: [] })), []);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && doctor.again(), 10_000);
    return () => clearInterval(timer);
  }, []);
  const findings = doctor.value?.findings ?? [];
  const report = stats.value;
  return (
    <div class="overview">
      <h1>Overview</h1>
      <Tiles report={report} findings={findings} total={total} />
      <div class="columns">
        <Panel title="Units per second" aside={<span class="note">last two minutes</span>}>
          {report ? (
            <Live report={report} />
          ) : features.stats === false ? (
            <Empty>This endpoint keeps no statistics that the console could read.</Empty>
          ) : statsError.value ? (
            <Failure error={new Error(statsError.value)} />
          ) : (
            <Loading />
          )}
        </Panel>
        <Panel title="Findings" aside={<a href={href(["doctor"])}>All</a>}>
          {doctor.error ? <Failure error={doctor.error} /> : <Findings findings={findings} />}
        </Panel>
      </div>
      <Tables told={setTotal} />
      {features.cluster && <Servers />}
    </div>
  );
}

// Simulator: the design under many times its load.
import { useState } from "preact/hooks";
import { amend, route } from "../router";
import { simulate, type Simulation } from "../server/api";
import { designs, info } from "../server/state";
import { Badge, brief, Button, count, Empty, Failure, Loading, Panel } from "../ui/parts";
import { UnifiedDiff } from "../ui/diff";
import { Prose } from "../ui/prose";
import { Picture } from "./design/diagrams";
import { bytes } from "../values/attribute";

const PROFILES = ["constant", "daily", "spike", "launch"];

export function Breaks({ result }: { result: Simulation }) {
  const sorted = [...result.breaks].sort((a, b) => (a.multiple ?? Infinity) - (b.multiple ?? Infinity));
  return (
    <table>
      <thead>
        <tr>
          <th>Access pattern</th>
          <th class="right">Fails at</th>
          <th>Because</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map((one) => (
          <tr key={one.pattern}>
            <td>{one.pattern}</td>
            <td class="right">
              {one.multiple === null ? (
                <Badge kind="good">no limit</Badge>
              ) : (
                <Badge kind={one.multiple < 10 ? "error" : one.multiple < 1000 ? "warning" : "good"}>
                  {brief(one.multiple)} ×
                </Badge>
              )}
            </td>
            <td class="note">
              <Prose text={one.reason} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The change that moves the first limit; it has been applied, checked and simulated. */
export function Advice({ result }: { result: Simulation }) {
  const advice = result.advice;
  if (!advice) return null;
  return (
    <div class="advice">
      <p>
        To move the limit from {brief(advice.before)} × to{" "}
        {advice.after === null ? "none" : `${brief(advice.after)} ×`}: <Prose text={advice.text} />
      </p>
      {/* A setting is no change of the file. */}
      {advice.diff.length > 0 && <UnifiedDiff text={advice.diff.join("\n")} />}
      {advice.dearer.map((one) => (
        <p key={one} class="note">
          Price: {one}
        </p>
      ))}
    </div>
  );
}

function Hottest({ shares }: { shares: number[] }) {
  return (
    <span
      class="bars"
      role="img"
      aria-label={`hottest partitions at ${shares.map((s) => `${Math.round(s * 100)} %`).join(", ")}`}
    >
      {shares.slice(0, 16).map((share, n) => (
        <span
          key={n}
          class={share >= 1 ? "full" : ""}
          style={{ height: `${Math.max(2, Math.min(1, share) * 22)}px` }}
        />
      ))}
    </span>
  );
}

function Scale({ scale }: { scale: Simulation["scales"][number] }) {
  const refused = scale.patterns.filter((pattern) => pattern.refused > 0 || pattern.failed > 0);
  return (
    <Panel
      title={`${brief(scale.multiple)} × the load`}
      aside={<span class="note">{bytes(scale.bytes)} stored</span>}
    >
      <table>
        <thead>
          <tr>
            <th>Place</th>
            <th class="right">Partitions</th>
            <th class="right">Reads/s</th>
            <th class="right">Writes/s</th>
            <th>Hottest partitions</th>
          </tr>
        </thead>
        <tbody>
          {scale.places.map((place) => (
            <tr key={`${place.table}.${place.index}`}>
              <td class="mono">{place.index ?? place.table}</td>
              <td class="right">{count(place.partitions)}</td>
              <td class="right">{brief(place.peak_units.read)}</td>
              <td class="right">{brief(place.peak_units.write)}</td>
              <td>
                <Hottest shares={place.hottest} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="prices">
        {Object.entries(scale.dollars_a_month).map(([way, dollars]) => (
          <span key={way}>
            <span class="note">{way}</span> ${brief(dollars)}
          </span>
        ))}
        <span class="note">a month</span>
      </div>
      {refused.length > 0 && (
        <ul class="problems refusals">
          {refused.map((pattern) => (
            <li key={pattern.pattern}>
              <Badge kind="error">{(pattern.refused * 100).toFixed(1)} % refused</Badge> {pattern.pattern},
              p99 +{Math.round(pattern.added_ms.p99)} ms
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

export function SimulatorView() {
  const query = route.value.query;
  const all = designs.value;
  const name = query.get("design") ?? all[0]?.name ?? "";
  const scale = query.get("scale") ?? "1, 10, 100, 1000";
  const profile = query.get("profile") ?? "constant";
  const capacity = query.get("capacity") ?? "";
  const canObserve = info.value?.features?.stats === true;
  const observed = canObserve && query.get("observed") === "1";
  const [result, setResult] = useState<Simulation | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const run = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const multiples = scale
        .split(/[\s,]+/)
        .filter(Boolean)
        .map(Number);
      if (!multiples.length || multiples.some((multiple) => !(multiple > 0))) {
        throw new Error("The multiples are positive numbers, separated by commas.");
      }
      setResult(
        await simulate({
          design: name,
          scale: multiples,
          profile,
          ...(capacity ? { capacity } : {}),
          ...(observed ? { observed } : {}),
        }),
      );
    } catch (error) {
      setError(error);
      setResult(null);
    }
    setBusy(false);
  };
  if (info.value?.features?.simulate === false || !all.length) {
    return (
      <div class="simulator">
        <h1>Simulator</h1>
        <Empty>The simulator needs a design: start with --design FILE.</Empty>
      </div>
    );
  }
  return (
    <div class="simulator">
      <h1>Simulator</h1>
      <form class="ask" onSubmit={(event) => void run(event)} aria-label="What to simulate">
        <label>
          Design
          <select value={name} onChange={(event) => amend({ design: event.currentTarget.value }, true)}>
            {all.map((design) => (
              <option key={design.name} value={design.name}>
                {design.title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Multiples of the load
          <input
            type="text"
            value={scale}
            onInput={(event) => amend({ scale: event.currentTarget.value }, true)}
          />
        </label>
        <label>
          Course of the load
          <select value={profile} onChange={(event) => amend({ profile: event.currentTarget.value }, true)}>
            {PROFILES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          Capacity
          <select value={capacity} onChange={(event) => amend({ capacity: event.currentTarget.value }, true)}>
            <option value="">as designed</option>
            <option>on-demand</option>
            <option>provisioned</option>
          </select>
        </label>
        {canObserve && (
          <label class="check">
            <input
              type="checkbox"
              checked={observed}
              onChange={() => amend({ observed: observed ? null : "1" }, true)}
            />
            Observed rates and keys
          </label>
        )}
        <Button kind="primary" icon="play" type="submit" disabled={busy}>
          Simulate
        </Button>
      </form>
      {error != null && <Failure error={error} />}
      {busy ? (
        <Loading what="Simulating" />
      ) : result ? (
        <>
          <Panel
            title="Where patterns fail"
            aside={<span class="note">{count(result.minutes)} minutes simulated</span>}
          >
            <Breaks result={result} />
            <Advice result={result} />
          </Panel>
          <div class="scales">
            {result.scales.map((one) => (
              <Scale key={one.multiple} scale={one} />
            ))}
          </div>
          {Object.entries(result.pictures ?? {}).map(([title, svg]) => (
            <Picture key={title} title={title.replace(/[-_]/g, " ")} svg={svg} name={`${name} ${title}`} />
          ))}
          {result.left_out.length > 0 && (
            <Panel title="Left out">
              <ul class="plain">
                {result.left_out.map((one) => (
                  <li key={one.pattern}>
                    {one.pattern}: <span class="note">{one.reason}</span>
                  </li>
                ))}
              </ul>
            </Panel>
          )}
        </>
      ) : (
        !error && (
          <Empty>
            The rates, counts and key values of the design become load on partitions as AWS would have them.
          </Empty>
        )
      )}
    </div>
  );
}

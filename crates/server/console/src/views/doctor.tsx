// Doctor: what the observed requests say about the design.
import { useEffect, useState } from "preact/hooks";
import { href } from "../router";
import { readDoctor, type DoctorFinding } from "../server/api";
import { info } from "../server/state";
import { UnifiedDiff } from "../ui/diff";
import { Badge, brief, Button, Empty, Failure, Loading, useLoaded } from "../ui/parts";
import { Prose } from "../ui/prose";

function tableOf(place: string): string {
  return place.split(".")[0] ?? place;
}

function FindingCard({ finding }: { finding: DoctorFinding }) {
  const [all, setAll] = useState(false);
  const patterns = finding.patterns ?? [];
  return (
    <article class={`panel finding ${finding.severity}`}>
      <header>
        <Badge kind={finding.severity}>{finding.severity}</Badge>
        <h2>
          <Prose text={finding.title} />
        </h2>
        <span class="spacer" />
        <a class="mono" href={href(["data", tableOf(finding.place)])}>
          <bdi>{finding.place}</bdi>
        </a>
      </header>
      <dl class="facts">
        <dt>Evidence</dt>
        <dd>
          {finding.evidence.map((line, n) => (
            <div key={n}>
              <Prose text={line} />
            </div>
          ))}
        </dd>
        {finding.at_ten && <dt>At ten times the load</dt>}
        {finding.at_ten && (
          <dd>
            <Prose text={finding.at_ten} />
          </dd>
        )}
        {finding.fix && <dt>What to do</dt>}
        {finding.fix && (
          <dd>
            <Prose text={finding.fix} />
          </dd>
        )}
        {finding.headroom != null && <dt>Headroom</dt>}
        {finding.headroom != null && <dd>{brief(finding.headroom)} times the present load</dd>}
        {finding.dollars_per_month != null && <dt>Cost</dt>}
        {finding.dollars_per_month != null && <dd>${brief(finding.dollars_per_month)} a month</dd>}
        {finding.confidence && <dt>Confidence</dt>}
        {finding.confidence && <dd>{finding.confidence}</dd>}
        {patterns.length > 0 && <dt>Patterns</dt>}
        {patterns.length > 0 && (
          <dd>
            {(all ? patterns : patterns.slice(0, 4)).join(", ")}{" "}
            {patterns.length > 4 && (
              <button type="button" class="link" onClick={() => setAll(!all)}>
                {all ? "fewer" : `and ${patterns.length - 4} more`}
              </button>
            )}
          </dd>
        )}
      </dl>
      {finding.diff && (
        <div class="change">
          <UnifiedDiff text={finding.diff} />
        </div>
      )}
    </article>
  );
}

export function DoctorView() {
  const [paused, setPaused] = useState(false);
  const doctor = useLoaded(readDoctor, []);
  useEffect(() => {
    if (paused) return;
    const timer = setInterval(() => !document.hidden && doctor.again(), 10_000);
    return () => clearInterval(timer);
  }, [paused]);
  const findings = doctor.value?.findings ?? [];
  return (
    <div class="doctor">
      <div class="title-bar">
        <h1>Doctor</h1>
        <span class="note" aria-live="polite">
          {doctor.value ? `${findings.length} findings` : ""}
        </span>
        <span class="spacer" />
        <Button kind="quiet" icon={paused ? "play" : "pause"} onClick={() => setPaused(!paused)}>
          {paused ? "Go on" : "Pause"}
        </Button>
        <Button kind="quiet" icon="refresh" onClick={doctor.again}>
          Examine now
        </Button>
      </div>
      {info.value?.features?.doctor === false ? (
        <Empty>This endpoint keeps no statistics: there is nothing to examine.</Empty>
      ) : doctor.error ? (
        <Failure error={doctor.error} retry={doctor.again} />
      ) : !doctor.value ? (
        <Loading what="Examining" />
      ) : findings.length ? (
        findings.map((finding, n) => (
          <FindingCard key={`${finding.id} ${finding.place} ${n}`} finding={finding} />
        ))
      ) : (
        <Empty>No findings. What is observed so far looks healthy.</Empty>
      )}
    </div>
  );
}

// Design: its entities, tables, access patterns, pictures and the file itself.
import { go, href, route } from "../../router";
import { designs } from "../../server/state";
import type { Design } from "../../server/api";
import { Badge, Empty, Tabs } from "../../ui/parts";
import { Diagrams } from "./diagrams";
import { Entities } from "./entities";
import { DesignFile } from "./file";
import { Patterns } from "./patterns";
import { Samples } from "./samples";

const TABS = [
  ["entities", "Entities"],
  ["tables", "Tables"],
  ["patterns", "Access patterns"],
  ["diagrams", "Diagrams"],
  ["file", "File"],
] as const;

type Tab = (typeof TABS)[number][0];

function Counts({ design }: { design: Design }) {
  const errors = design.findings.filter((finding) => finding.level === "error").length;
  const proven = design.patterns.filter((pattern) =>
    pattern.proofs.every((proof) => proof.status === "proven" || proof.status === "not asked"),
  ).length;
  return (
    <>
      <Badge kind={proven === design.patterns.length ? "good" : "warning"}>
        {proven} of {design.patterns.length} patterns proven
      </Badge>
      <a href={href(["design", design.name, "file"])}>
        <Badge kind={errors ? "error" : design.findings.length ? "warning" : "good"}>
          {design.findings.length === 1 ? "1 finding" : `${design.findings.length} findings`}
        </Badge>
      </a>
    </>
  );
}

export function DesignView() {
  const [, name, chosen] = route.value.path;
  const all = designs.value;
  const design = all.find((candidate) => candidate.name === name) ?? all[0];
  if (!design) {
    return (
      <Empty>
        No design was given. Start with <code>keyloom serve --design FILE</code> or{" "}
        <code>keyloom console --design FILE</code>.
      </Empty>
    );
  }
  const tab: Tab = TABS.find(([value]) => value === chosen)?.[0] ?? "entities";
  return (
    <div class="design">
      <div class="title-bar">
        {all.length > 1 ? (
          <select
            aria-label="Design"
            value={design.name}
            onChange={(event) => go(["design", event.currentTarget.value, tab])}
          >
            {all.map((candidate) => (
              <option key={candidate.name} value={candidate.name}>
                {candidate.title}
              </option>
            ))}
          </select>
        ) : (
          <h1 title={design.description}>{design.title}</h1>
        )}
        <Tabs<Tab>
          label="Parts of the design"
          tabs={TABS.map(([a, b]) => [a, b])}
          value={tab}
          change={(next) => go(["design", design.name, next])}
        />
        <span class="spacer" />
        <Counts design={design} />
      </div>
      {tab === "entities" && <Entities design={design} />}
      {tab === "tables" && <Samples design={design} />}
      {tab === "patterns" && <Patterns design={design} />}
      {tab === "diagrams" && <Diagrams design={design} />}
      {tab === "file" && <DesignFile key={design.name} design={design} />}
    </div>
  );
}

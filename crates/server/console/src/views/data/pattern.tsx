// Run an access pattern: fill in its fields; see its rows, the requests it makes, what it costs and what is proven.
import { useEffect, useState } from "preact/hooks";
import { amend, route } from "../../router";
import { runPattern, type Design, type Pattern, type PatternInput, type Ran } from "../../server/api";
import type { TableDescription } from "../../server/dynamo";
import type { Item } from "../../values/attribute";
import { Badge, Button, count, Empty, Failure, Loading } from "../../ui/parts";
import { Results } from "./results";

const requestsOf = (n: number) => (n === 1 ? "1 request" : `${n} requests`);

export function Proofs({ pattern }: { pattern: Pattern }) {
  return (
    <span class="proofs">
      {pattern.proofs
        .filter((proof) => proof.status !== "not asked")
        .map((proof) => (
          <Badge key={proof.claim} kind={proof.status === "proven" ? "good" : "error"}>
            <span title={proof.reason ?? proof.status}>
              {proof.status === "proven" ? "✓" : "✗"} {proof.claim}
            </span>
          </Badge>
        ))}
    </span>
  );
}

function fieldOf(design: Design, pattern: Pattern, input: PatternInput) {
  for (const entity of design.entities) {
    if (!pattern.find.includes(entity.name)) continue;
    const field = entity.fields.find((candidate) => candidate.name === input.field);
    if (field) return field;
  }
  return undefined;
}

interface InputsProps {
  design: Design;
  pattern: Pattern;
  values: Record<string, string>;
  set: (field: string, value: string) => void;
}

function Inputs({ design, pattern, values, set }: InputsProps) {
  return (
    <>
      {pattern.inputs.map((input) => {
        const choices = input.values ?? fieldOf(design, pattern, input)?.values;
        const list = `choices-${input.name}`;
        return (
          <label key={input.name} class="wide">
            <span>
              {input.name} <span class="type">{[input.op, input.type].filter(Boolean).join(" ")}</span>
            </span>
            <input
              type="text"
              required
              spellcheck={false}
              list={choices ? list : undefined}
              value={values[input.name] ?? ""}
              onInput={(event) => set(input.name, event.currentTarget.value)}
            />
            {choices && (
              <datalist id={list}>
                {choices.map((choice) => (
                  <option key={choice} value={choice} />
                ))}
              </datalist>
            )}
          </label>
        );
      })}
      {!pattern.inputs.length && <span class="note">This pattern needs no values.</span>}
    </>
  );
}

interface Props {
  design: Design | undefined;
  table: TableDescription;
  openItem: (item: Item) => void;
}

export function PatternRunner({ design, table, openItem }: Props) {
  const query = route.value.query;
  const chosen = query.get("pattern") ?? "";
  const patterns = design?.patterns ?? [];
  const pattern = patterns.find((candidate) => candidate.name === chosen) ?? patterns[0];
  const [pages, setPages] = useState<Ran[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const values: Record<string, string> = {};
  for (const input of pattern?.inputs ?? []) values[input.name] = query.get(`in.${input.name}`) ?? "";

  const run = async (cursor?: unknown) => {
    if (!design || !pattern) return;
    setBusy(true);
    const inputs = values;
    try {
      const ran = await runPattern(design.name, { pattern: pattern.name, inputs, cursor });
      setPages((before) => (cursor ? [...before, ran] : [ran]));
      setError(null);
    } catch (error) {
      setError(error);
      if (!cursor) setPages([]);
    }
    setBusy(false);
  };
  useEffect(() => {
    setPages([]);
    setError(null);
    if (query.get("run")) void run();
  }, [pattern?.name, design?.name]);

  if (!design || !pattern) return <Empty>No design with access patterns was given for this table.</Empty>;
  const rows = pages.flatMap((page) => page.rows.map((row) => row.item));
  const last = pages.at(-1);
  const units = pages.reduce((sum, page) => sum + (page.units ?? 0), 0);
  return (
    <div class="browse">
      <form
        class="ask"
        aria-label="Access pattern"
        onSubmit={(event) => {
          event.preventDefault();
          amend({ run: "1" }, true);
          void run();
        }}
      >
        <label class="wide">
          Access pattern
          <select
            value={pattern.name}
            onChange={(event) => amend({ pattern: event.currentTarget.value, run: null })}
          >
            {patterns.map((candidate) => (
              <option key={candidate.name}>{candidate.name}</option>
            ))}
          </select>
        </label>
        <Inputs
          design={design}
          pattern={pattern}
          values={values}
          set={(field, value) => amend({ [`in.${field}`]: value, run: null }, true)}
        />
        <Button kind="primary" icon="play" type="submit" disabled={busy}>
          Run
        </Button>
      </form>
      <div class="bar">
        <Badge kind={pattern.verdict}>{pattern.verdict}</Badge>
        <span class="note">on {pattern.places.join(", ") || "table"}</span>
        <Proofs pattern={pattern} />
        <span class="spacer" />
        {last && (
          <span class="note" aria-live="polite">
            {count(rows.length)} rows, {units} RU{last.ms !== undefined && `, ${Math.round(last.ms)} ms`}
          </span>
        )}
        <details class="request">
          <summary>{last ? requestsOf(pages.flatMap((page) => page.requests).length) : "Request"}</summary>
          <pre tabIndex={0}>
            {(last ? pages.flatMap((page) => page.requests) : pattern.requests)
              .map((request) => `${request.operation} ${JSON.stringify(request.body, null, 2)}`)
              .join("\n\n")}
          </pre>
        </details>
        {last?.cursor != null && (
          <Button disabled={busy} onClick={() => void run(last.cursor)}>
            More rows
          </Button>
        )}
      </div>
      {error ? (
        <Failure error={error} />
      ) : busy && !last ? (
        <Loading what="Running" />
      ) : last ? (
        <Results table={table} items={rows} openItem={openItem} />
      ) : (
        <Empty>
          <code>{pattern.where ?? pattern.name}</code>
        </Empty>
      )}
    </div>
  );
}

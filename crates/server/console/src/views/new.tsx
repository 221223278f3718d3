// New: from what is stored, asked and written to a design with keys, proofs, cost and limits. The file is saved by the
// browser; nothing is written on the server.
import { useEffect, useRef, useState } from "preact/hooks";
import { newDesign, type NewDesign } from "../server/api";
import { Badge, brief, Button, count, Empty, Failure, Loading, Panel, save } from "../ui/parts";
import { Editor } from "../ui/editor";
import { Prose } from "../ui/prose";
import { Picture } from "./design/diagrams";
import { Advice, Breaks } from "./simulator";

const KINDS = ["entities", "patterns", "writes"] as const;
type Kind = (typeof KINDS)[number];
type Said = Record<Kind, string>;

const QUESTIONS: Record<Kind, { title: string; help: string; example: string }> = {
  entities: {
    title: "What is stored?",
    help: "NAME: FIELD TYPE, FIELD TYPE; COUNT of SIZE. The first field tells items apart, or those with *; ? marks fields that may be absent.",
    example:
      "Order: order_id ulid, customer ulid, placed_at datetime, status string(open|paid); 1M of 1 KB\nCustomer: customer ulid, mail token; 200k of 500 B",
  },
  patterns: {
    title: "What is asked?",
    help: "NAME: ENTITY where CONDITION order FIELD limit N rate N/s. All but the entity may be missing.",
    example:
      "order: Order where order_id = ? rate 50/s\ncustomer by mail: Customer where mail = ?\norders of a customer: Order where customer = ? order placed_at desc limit 20 rate 300/s",
  },
  writes: {
    title: "What is written, and how often?",
    help: "NAME: ENTITY N/s.",
    example: "place an order: Order 100/s\nsign up: Customer 2/s",
  },
};

const KEY = "keyloom-new";
const NOTHING: Said = { entities: "", patterns: "", writes: "" };

/** What was said in this tab before it was loaded again. */
function remembered(): Said {
  try {
    const said = JSON.parse(sessionStorage.getItem(KEY) ?? "{}") as Partial<Said>;
    const text = (kind: Kind) => (typeof said[kind] === "string" ? (said[kind] as string) : "");
    return { entities: text("entities"), patterns: text("patterns"), writes: text("writes") };
  } catch {
    return NOTHING;
  }
}

const linesOf = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

function Question(props: {
  kind: Kind;
  value: string;
  change: (text: string) => void;
  result: NewDesign | null;
}) {
  const { title, help, example } = QUESTIONS[props.kind];
  const said = props.result?.said.filter((one) => one.kind === props.kind) ?? [];
  return (
    <Panel title={title}>
      <label class="said">
        <span class="note">{help}</span>
        <textarea
          aria-label={title}
          class="mono"
          rows={Math.max(3, linesOf(props.value).length + 1)}
          spellcheck={false}
          placeholder={example}
          value={props.value}
          onInput={(event) => props.change(event.currentTarget.value)}
        />
      </label>
      {said.length > 0 && (
        <ul class="plain answers">
          {said.map((one) => (
            <li key={one.line}>
              {one.wrong && <Badge kind="error">line {one.line + 1}</Badge>} <Prose text={one.says} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Made({ made, name }: { made: NewDesign; name: string }) {
  const { text, design, simulation } = made;
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => top.current?.scrollIntoView(), [made]);
  if (!text || !design || !simulation) return null;
  const file = `${name}.toml`;
  return (
    <div class="simulator" ref={top}>
      <Panel
        title={
          <>
            {file}{" "}
            {made.proven ? (
              <Badge kind="good">every pattern is proven</Badge>
            ) : (
              <Badge kind="error">not every pattern is proven</Badge>
            )}
          </>
        }
        aside={
          <Button
            kind="primary"
            icon="download"
            onClick={() => save(file, new Blob([text], { type: "application/toml" }))}
          >
            Save the file
          </Button>
        }
      >
        <table>
          <thead>
            <tr>
              <th>Access pattern</th>
              <th>Read</th>
              <th>From</th>
              <th class="right">Read units</th>
            </tr>
          </thead>
          <tbody>
            {design.patterns.map((pattern) => (
              <tr key={pattern.name}>
                <td>{pattern.name}</td>
                <td>
                  <Badge kind={pattern.verdict === "refused" ? "error" : ""}>{pattern.verdict}</Badge>
                </td>
                <td class="mono">{pattern.places.join(", ")}</td>
                <td class="right">{pattern.cost?.ru == null ? "" : brief(pattern.cost.ru)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p>
          {count(made.indexes ?? 0)} {made.indexes === 1 ? "index" : "indexes"}, $
          {brief(made.dollars_a_month ?? 0)} a month on demand.
        </p>
        <ul class="plain">
          {[...(made.refused ?? []), ...(made.why ?? [])].map((line) => (
            <li key={line}>
              <Prose text={line} />
            </li>
          ))}
        </ul>
        <Editor label={`The design ${file}`} value={text} language="toml" height="22rem" />
        <p class="note">
          Next: <code>keyloom try {file}</code>, <code>keyloom serve --design {file}</code>
        </p>
      </Panel>
      {simulation.breaks.length > 0 ? (
        <>
          <Panel title="Where patterns fail">
            <Breaks result={simulation} />
            <Advice result={simulation} />
          </Panel>
          {Object.entries(simulation.pictures ?? {}).map(([title, svg]) => (
            <Picture key={title} title={title.replace(/[-_]/g, " ")} svg={svg} name={`${name} ${title}`} />
          ))}
        </>
      ) : (
        <Empty>No pattern or write says how often it happens: add a rate to see limits and cost.</Empty>
      )}
    </div>
  );
}

export function NewView() {
  const [said, setSaid] = useState<Said>(remembered);
  const [name, setName] = useState("design");
  const [made, setMade] = useState<NewDesign | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => sessionStorage.setItem(KEY, JSON.stringify(said)), [said]);
  const change = (kind: Kind) => (text: string) => {
    setSaid({ ...said, [kind]: text });
    setMade(null);
  };
  const find = async (event?: Event) => {
    event?.preventDefault();
    setBusy(true);
    setError(null);
    try {
      if (!linesOf(said.entities).length) throw new Error("Say what is stored, one line for each entity.");
      const asked = Object.fromEntries(KINDS.map((kind) => [kind, linesOf(said[kind])]));
      setMade(await newDesign({ name, ...asked }));
    } catch (error) {
      setError(error);
      setMade(null);
    }
    setBusy(false);
  };
  const example = () => {
    const text = (kind: Kind) => QUESTIONS[kind].example;
    setSaid({ entities: text("entities"), patterns: text("patterns"), writes: text("writes") });
    setMade(null);
  };
  return (
    <div class="simulator new">
      <h1>New design</h1>
      <form class="questions" onSubmit={(event) => void find(event)} aria-label="What the design is for">
        {KINDS.map((kind) => (
          <Question key={kind} kind={kind} value={said[kind]} change={change(kind)} result={made} />
        ))}
        <div class="ask">
          <label>
            Name of the file
            <input
              type="text"
              value={name}
              pattern="[\p{L}\p{N}_\-]+"
              maxLength={64}
              required
              onInput={(event) => {
                setName(event.currentTarget.value);
                setMade(null);
              }}
            />
          </label>
          <Button kind="primary" icon="play" type="submit" disabled={busy}>
            Find the keys
          </Button>
          <Button kind="quiet" onClick={example}>
            An example
          </Button>
        </div>
      </form>
      {error != null && <Failure error={error} />}
      {busy ? <Loading what="Finding keys" /> : made && <Made made={made} name={name} />}
    </div>
  );
}

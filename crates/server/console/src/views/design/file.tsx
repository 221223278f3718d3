// The design file with its findings: checked while it is edited, fixed by click, written where a file was given.
import { useEffect, useMemo, useState } from "preact/hooks";
import { checkDesign, writeDesign, type Design, type Finding, type Fix } from "../../server/api";
import { Refusal } from "../../server/http";
import { readOnly, refreshDesign } from "../../server/state";
import type { Mark } from "../../ui/codemirror";
import { Diff } from "../../ui/diff";
import { Editor } from "../../ui/editor";
import { Badge, Button, Dialog, Empty, Failure } from "../../ui/parts";
import { Prose } from "../../ui/prose";
import { tell } from "../../ui/toasts";

function marksOf(findings: Finding[]): Mark[] {
  return findings.flatMap((finding) =>
    finding.span
      ? [{ ...finding.span, level: finding.level, message: `${finding.rule}: ${finding.message}` }]
      : [],
  );
}

interface ListProps {
  findings: Finding[];
  show: (line: number) => void;
  propose: (fix: Fix) => void;
}

function Findings({ findings, show, propose }: ListProps) {
  if (!findings.length) return <Empty>No findings: every pattern is proven.</Empty>;
  return (
    <ul class="findings">
      {findings.map((finding, n) => (
        <li key={n}>
          <div class="head">
            <Badge kind={finding.level}>{finding.rule}</Badge>
            {finding.span && (
              <button type="button" class="link" onClick={() => finding.span && show(finding.span.line)}>
                line {finding.span.line}
              </button>
            )}
          </div>
          <Prose text={finding.message} />
          {[finding.evidence ?? []].flat().map((line, m) => (
            <p key={m} class="note">
              <Prose text={line} />
            </p>
          ))}
          {finding.fix?.advice && (
            <p class="note">
              Fix: <Prose text={finding.fix.advice} />
            </p>
          )}
          {finding.fix?.text && (
            <Button onClick={() => finding.fix && propose(finding.fix)}>
              <Prose text={finding.fix.title} />
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

export function DesignFile({ design }: { design: Design }) {
  const [base, setBase] = useState(design.text);
  const [sum, setSum] = useState(design.sum);
  const [text, setText] = useState(design.text);
  const [checked, setChecked] = useState(design);
  const [error, setError] = useState<unknown>(null);
  const [fix, setFix] = useState<Fix | null>(null);
  const [reviewing, setReviewing] = useState(false);
  const [line, setLine] = useState<{ line: number } | null>(null);
  const changed = text !== base;
  useEffect(() => {
    if (text === checked.text) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      checkDesign(design.name, text, abort.signal).then(
        (told) => (setChecked({ ...told, text }), setError(null)),
        (error: unknown) => !abort.signal.aborted && setError(error),
      );
    }, 300);
    return () => (clearTimeout(timer), abort.abort());
  }, [text]);
  const marks = useMemo(() => marksOf(checked.findings), [checked]);
  const write = async () => {
    try {
      await writeDesign(design.name, text, sum);
      setBase(text);
      setReviewing(false);
      setError(null);
      tell(`${design.file ?? "The file"} is written`);
      setSum((await refreshDesign(design.name)).sum);
    } catch (error) {
      setReviewing(false);
      const stale = error instanceof Refusal && error.status === 409;
      setError(
        stale
          ? new Error(
              "Not written: the file was changed by somebody else after it was read. Copy your text, and load the page again.",
            )
          : error,
      );
    }
  };
  const writable = design.writable && !readOnly.value;
  return (
    <div class="file">
      <div class="browse">
        <div class="bar">
          <bdi class="mono">{design.file ?? "no file"}</bdi>
          {changed && <Badge kind="warning">changed</Badge>}
          <span class="spacer" />
          {changed && (
            <Button kind="quiet" onClick={() => setText(base)}>
              Undo all
            </Button>
          )}
          {writable ? (
            <Button kind="primary" disabled={!changed} onClick={() => setReviewing(true)}>
              Review and write
            </Button>
          ) : (
            <span class="note">
              {design.file
                ? "read-only: changes are checked, not written"
                : "changes are checked, not written"}
            </span>
          )}
        </div>
        {error != null && <Failure error={error} />}
        <Editor label="Design file" value={text} language="toml" change={setText} marks={marks} show={line} />
      </div>
      <section class="panel findings-panel" aria-label="Findings">
        <header>
          <h2>Findings</h2>
          <span class="note">{checked.findings.length}</span>
        </header>
        <div class="scrolled" tabIndex={0}>
          <Findings findings={checked.findings} show={(at) => setLine({ line: at })} propose={setFix} />
        </div>
      </section>
      {fix && (
        <Dialog title={fix.title} close={() => setFix(null)} wide>
          <div class="stacked">
            <Diff before={text} after={fix.text ?? text} />
            <div class="actions">
              <Button
                kind="primary"
                onClick={() => {
                  setText(fix.text ?? text);
                  setFix(null);
                }}
              >
                Apply
              </Button>
              <Button kind="quiet" onClick={() => setFix(null)}>
                Cancel
              </Button>
            </div>
          </div>
        </Dialog>
      )}
      {reviewing && (
        <Dialog title={`Write ${design.file ?? "the design"}`} close={() => setReviewing(false)} wide>
          <div class="stacked">
            <Diff before={base} after={text} />
            <div class="actions">
              <Button kind="primary" onClick={() => void write()}>
                Write
              </Button>
              <Button kind="quiet" onClick={() => setReviewing(false)}>
                Cancel
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </div>
  );
}

// Files in and out, by the same code as `keyloom load` and `keyloom dump`.
import { useEffect, useRef, useState } from "preact/hooks";
import { exportTable, importFile, type ImportProgress, type Loaded } from "../../server/api";
import { designOf, entitiesOf } from "../../server/state";
import { Button, count, Dialog, Failure, save } from "../../ui/parts";
import { Prose } from "../../ui/prose";
import { tell } from "../../ui/toasts";
import { bytes } from "../../values/attribute";

const FORMATS: [string, string, string][] = [
  ["jsonl", "JSON lines", "jsonl"],
  ["dynamodb-json", "DynamoDB JSON", "json"],
  ["csv", "CSV", "csv"],
];

function guess(name: string): string {
  if (/\.csv/i.test(name)) return "csv";
  return /\.(jsonl|ndjson)/i.test(name) ? "jsonl" : "dynamodb-json";
}

function Formats({ value, change }: { value: string; change: (value: string) => void }) {
  return (
    <label>
      Format
      <select value={value} onChange={(event) => change(event.currentTarget.value)}>
        {FORMATS.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

export function ImportDialog({ table, close, done }: { table: string; close: () => void; done: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [format, setFormat] = useState("jsonl");
  const [byDesign, setByDesign] = useState(true);
  const [entity, setEntity] = useState("");
  const [result, setResult] = useState<Loaded | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [progress, setProgress] = useState<ImportProgress | null>(null);
  const running = useRef<AbortController | null>(null);
  const busy = progress !== null;
  const design = designOf(table);
  useEffect(() => () => running.current?.abort(), []);
  const load = async (event: Event) => {
    event.preventDefault();
    if (!file) return;
    const stop = (running.current = new AbortController());
    setProgress({ share: 0, loaded: 0 });
    setError(null);
    setResult(null);
    try {
      setResult(
        await importFile(
          {
            table,
            format,
            design: byDesign ? design?.name : undefined,
            entity: byDesign ? entity : "",
            name: file.name,
          },
          file,
          setProgress,
          stop.signal,
        ),
      );
    } catch (error) {
      if (!stop.signal.aborted) setError(error);
    }
    setProgress(null);
    done();
  };
  return (
    <Dialog title={`Import into ${table}`} close={close}>
      <form class="stacked" onSubmit={(event) => void load(event)}>
        <label>
          File
          <input
            type="file"
            required
            onChange={(event) => {
              const chosen = event.currentTarget.files?.[0] ?? null;
              setFile(chosen);
              if (chosen) setFormat(guess(chosen.name));
            }}
          />
        </label>
        <Formats value={format} change={setFormat} />
        {design && (
          <label class="check">
            <input type="checkbox" checked={byDesign} onChange={() => setByDesign(!byDesign)} />
            Only items that fit the design {design.title}; keys that are missing are made
          </label>
        )}
        {design && byDesign && (
          <label>
            Entity of every row
            <select value={entity} onChange={(event) => setEntity(event.currentTarget.value)}>
              <option value="">as the rows say</option>
              {entitiesOf(table).map((candidate) => (
                <option key={candidate.name}>{candidate.name}</option>
              ))}
            </select>
          </label>
        )}
        {progress && (
          <p class="note stacked" role="status">
            <progress value={progress.share} aria-label="Part of the file that is read" />
            {count(progress.loaded)} items written so far
          </p>
        )}
        {error != null && <Failure error={error} />}
        {result && (
          <div role="status">
            <p>
              {count(result.loaded)} items written, {count(result.refusedCount)} refused.
            </p>
            {result.fatal && <Failure error={new Error(result.fatal)} />}
            {result.refused.length > 0 && (
              <ul class="problems" tabIndex={0}>
                {result.refused.map((one, n) => (
                  <li key={n}>
                    {one.line !== undefined && `line ${one.line}: `}
                    <Prose text={one.reason} />
                  </li>
                ))}
              </ul>
            )}
          </div>
        )}
        <div class="actions">
          <Button kind="primary" icon="upload" type="submit" disabled={busy || !file}>
            {busy ? "Importing…" : "Import"}
          </Button>
          <Button kind="quiet" onClick={close}>
            {busy ? "Cancel" : "Close"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function ExportDialog({ table, close }: { table: string; close: () => void }) {
  const [format, setFormat] = useState("jsonl");
  const [error, setError] = useState<unknown>(null);
  const [read, setRead] = useState<number | null>(null);
  const running = useRef<AbortController | null>(null);
  const busy = read !== null;
  // Whoever closes the dialog does not want the file.
  useEffect(() => () => running.current?.abort(), []);
  const run = async () => {
    const stop = (running.current = new AbortController());
    setRead(0);
    setError(null);
    try {
      const ending = FORMATS.find(([name]) => name === format)?.[2] ?? "txt";
      const content = await exportTable({ table, format }, setRead, stop.signal);
      save(`${table}.${ending}`, content);
      tell(`Exported: ${bytes(content.size)}`);
      close();
    } catch (error) {
      if (!stop.signal.aborted) setError(error);
    }
    setRead(null);
  };
  return (
    <Dialog title={`Export ${table}`} close={close}>
      <div class="stacked">
        <Formats value={format} change={setFormat} />
        {format === "csv" && (
          <p class="note">The table is read twice: the names of all attributes are the columns.</p>
        )}
        {busy && (
          <p class="note" role="status">
            {read ? `${bytes(read)} so far` : "Reading the table…"}
          </p>
        )}
        {error != null && <Failure error={error} />}
        <div class="actions">
          <Button kind="primary" icon="download" disabled={busy} onClick={() => void run()}>
            {busy ? "Exporting…" : "Export"}
          </Button>
          <Button kind="quiet" onClick={close}>
            {busy ? "Cancel" : "Close"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

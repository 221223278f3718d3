// PartiQL statements and raw requests, as typed.
import { useState } from "preact/hooks";
import { amend, route } from "../../router";
import { dynamo, raw, type Page, type TableDescription } from "../../server/dynamo";
import { Refusal } from "../../server/http";
import type { Item } from "../../values/attribute";
import { Editor } from "../../ui/editor";
import { Button, count, Empty, Failure } from "../../ui/parts";
import { Results } from "./results";

interface Props {
  table: TableDescription;
  openItem: (item: Item) => void;
}

const quoted = (name: string) => `"${name.replace(/"/g, '""')}"`;

export function PartiQl({ table, openItem }: Props) {
  const [text, setText] = useState(
    route.value.query.get("statement") ?? `SELECT * FROM ${quoted(table.TableName)}`,
  );
  const [rows, setRows] = useState<Item[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const [error, setError] = useState<unknown>(null);
  const run = async (token?: string) => {
    amend({ statement: text }, true);
    const began = performance.now();
    try {
      const page = await dynamo<Page>("ExecuteStatement", {
        Statement: text,
        Limit: 500,
        ReturnConsumedCapacity: "TOTAL",
        ...(token ? { NextToken: token } : {}),
      });
      const all = token ? (rows ?? []).concat(page.Items ?? []) : (page.Items ?? []);
      setRows(all);
      setNext(page.NextToken ?? null);
      setNote(
        `${count(all.length)} rows, ${page.ConsumedCapacity?.CapacityUnits ?? 0} units, ${Math.round(performance.now() - began)} ms`,
      );
      setError(null);
    } catch (error) {
      setError(error);
      setRows(null);
    }
  };
  return (
    <div class="browse">
      <Editor
        label="PartiQL statement"
        value={text}
        language="sql"
        height="96px"
        change={setText}
        submit={() => void run()}
      />
      <div class="bar">
        <Button kind="primary" icon="play" title="Ctrl-Enter" onClick={() => void run()}>
          Run
        </Button>
        <span class="note" aria-live="polite">
          {note}
        </span>
        <span class="spacer" />
        {next && <Button onClick={() => void run(next)}>More rows</Button>}
      </div>
      {error ? (
        <Failure error={error} />
      ) : rows ? (
        <Results table={table} items={rows} openItem={openItem} />
      ) : (
        <Empty>Ctrl-Enter runs the statement.</Empty>
      )}
    </div>
  );
}

const OPERATIONS = [
  "BatchGetItem",
  "BatchWriteItem",
  "CreateTable",
  "DeleteItem",
  "DeleteTable",
  "DescribeTable",
  "DescribeTimeToLive",
  "ExecuteStatement",
  "GetItem",
  "ListTables",
  "PutItem",
  "Query",
  "Scan",
  "TransactGetItems",
  "TransactWriteItems",
  "UpdateItem",
  "UpdateTable",
  "UpdateTimeToLive",
];

export function RawRequest({ table }: Props) {
  const start = JSON.stringify({ TableName: table.TableName }, null, 2);
  const [operation, setOperation] = useState(route.value.query.get("operation") ?? "DescribeTable");
  const [text, setText] = useState(route.value.query.get("body") ?? start);
  const [answer, setAnswer] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const [error, setError] = useState<unknown>(null);
  const run = async () => {
    amend({ operation, body: text }, true);
    try {
      const { text: told, ms } = await raw(operation, text);
      // Reformatting must not read numbers as JavaScript's.
      setAnswer(JSON.stringify(JSON.parse(told), null, 2));
      setNote(`${Math.round(ms)} ms, ${count(told.length)} characters`);
      setError(null);
    } catch (error) {
      setError(error);
      setAnswer(null);
      setNote(error instanceof Refusal && error.status ? `status ${error.status}` : "");
    }
  };
  return (
    <div class="browse">
      <div class="bar">
        <label class="inline">
          Operation
          <input
            type="text"
            list="operations"
            spellcheck={false}
            value={operation}
            onInput={(event) => setOperation(event.currentTarget.value.trim())}
          />
        </label>
        <datalist id="operations">
          {OPERATIONS.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Button kind="primary" icon="play" title="Ctrl-Enter" onClick={() => void run()}>
          Send
        </Button>
        <span class="note" aria-live="polite">
          {note}
        </span>
      </div>
      <div class="halves">
        <Editor label="Request" value={text} language="json" change={setText} submit={() => void run()} />
        {error ? (
          <Failure error={error} />
        ) : answer !== null ? (
          <Editor label="Answer" value={answer} language="json" />
        ) : (
          <Empty>The answer appears here.</Empty>
        )}
      </div>
    </div>
  );
}

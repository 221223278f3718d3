// The text of an item: edited as JSON or DynamoDB JSON, judged by the design, written only if nobody else wrote.
import { useEffect, useRef, useState } from "preact/hooks";
import { recognize, type Entity as DesignEntity, type Recognized } from "../../server/api";
import { primaryKey, type TableDescription } from "../../server/dynamo";
import type { Refusal } from "../../server/http";
import { designOf, readOnly } from "../../server/state";
import { Diff } from "../../ui/diff";
import { Editor } from "../../ui/editor";
import { Button, Failure } from "../../ui/parts";
import { tell } from "../../ui/toasts";
import { inner, type Item } from "../../values/attribute";
import { fromDynamoJson, fromPlainJson, toDynamoJson, toPlainJson } from "../../values/json";
import { Entity, Problems } from "./rows";
import { change, create, read } from "./write";

export type Form = "values" | "json" | "dynamodb";

export const FORMS: [Form, string][] = [
  ["values", "Values"],
  ["json", "JSON"],
  ["dynamodb", "DynamoDB"],
];

const textOf = (form: Form, item: Item) => (form === "dynamodb" ? toDynamoJson(item) : toPlainJson(item));
const itemOf = (form: Form, text: string) =>
  form === "dynamodb" ? fromDynamoJson(text) : fromPlainJson(text);

/** What the design says about an item; without a design, nothing. */
export async function judged(table: string, item: Item, signal?: AbortSignal): Promise<Recognized | null> {
  const design = designOf(table);
  return design ? ((await recognize(design.name, table, [item], signal))[0] ?? null) : null;
}

function skeleton(entity: DesignEntity): Item {
  const item: Item = {};
  for (const key of entity.keys) item[key.attribute] = { S: key.template };
  for (const field of entity.fields) {
    const numeric = /^(u\d+|i\d+|int|decimal|number|float)/.test(field.type);
    item[field.name] ??= numeric ? { N: "0" } : { S: field.values?.[0] ?? "" };
  }
  return item;
}

/** Puts the fields' values into the templates of the keys, where all are there. */
function fillKeys(entity: DesignEntity, item: Item): Item {
  const filled: Item = { ...item };
  for (const key of entity.keys) {
    const texts = key.pieces.map((piece) => {
      if ("literal" in piece) return piece.literal;
      const value = item[piece.field];
      const text = value && ("S" in value || "N" in value) ? String(inner(value)) : "";
      return text || null;
    });
    if (texts.every((text) => text !== null)) filled[key.attribute] = { S: texts.join("") };
  }
  return filled;
}

interface Conflict {
  stored: Item | null;
  mine: Item;
}

interface EditProps {
  table: TableDescription;
  was: Item | null;
  form: Form;
  entity?: DesignEntity;
  done: (item: Item | null) => void;
}

export function Edit({ table, was, form, entity, done }: EditProps) {
  const start = was ?? (entity ? skeleton(entity) : {});
  const [base, setBase] = useState(was);
  const [text, setText] = useState(() => textOf(form, start));
  const [error, setError] = useState<unknown>(null);
  const [known, setKnown] = useState<Recognized | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [busy, setBusy] = useState(false);
  const shown = useRef(form);
  useEffect(() => {
    // The other form of the same text; a text that cannot be read keeps its form until it is put right.
    if (shown.current === form) return;
    try {
      setText(textOf(form, itemOf(shown.current, text)));
      shown.current = form;
      setError(null);
    } catch (error) {
      setError(error);
    }
  }, [form]);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      try {
        const item = itemOf(shown.current, text);
        setError(null);
        judged(table.TableName, item, abort.signal).then(
          (told) => !abort.signal.aborted && setKnown(told),
          () => undefined,
        );
      } catch (error) {
        setError(error);
      }
    }, 250);
    return () => (clearTimeout(timer), abort.abort());
  }, [text]);

  const write = async () => {
    let item: Item;
    try {
      item = itemOf(shown.current, text);
    } catch (error) {
      return setError(error);
    }
    setBusy(true);
    try {
      if (base) await change(table, base, item);
      else await create(table, item);
      tell(base ? "Saved" : "Created");
      done(item);
    } catch (error) {
      const failed = error as Refusal;
      const conditional = /ConditionalCheckFailed/.test(failed.code + failed.message);
      if (conditional)
        setConflict({
          stored: await read(table, primaryKey(table, base ?? item)).catch(() => null),
          mine: item,
        });
      else setError(error);
    }
    setBusy(false);
  };

  if (conflict) {
    return (
      <ConflictView
        conflict={conflict}
        isNew={!base}
        takeStored={() => done(conflict.stored)}
        keepMine={() => {
          setBase(conflict.stored);
          setConflict(null);
        }}
      />
    );
  }
  const problems = known?.problems ?? [];
  return (
    <div class="edit">
      <Editor
        label="The item as text"
        value={text}
        language="json"
        change={readOnly.value ? undefined : setText}
        submit={() => void write()}
      />
      {error != null && <Failure error={error} />}
      {problems.length > 0 && <Problems problems={problems} />}
      {known?.entity && !problems.length && !error && (
        <p class="note good-note">
          Fits the design as <Entity name={known.entity} />
        </p>
      )}
      {!readOnly.value && (
        <div class="actions">
          <Button kind="primary" icon="check" disabled={busy} onClick={() => void write()} title="Ctrl-Enter">
            {was ? "Save" : "Create"}
          </Button>
          {entity && (
            <Button
              onClick={() => {
                try {
                  setText(textOf(shown.current, fillKeys(entity, itemOf(shown.current, text))));
                } catch (error) {
                  setError(error);
                }
              }}
            >
              Make keys from fields
            </Button>
          )}
          <Button kind="quiet" onClick={() => done(was)}>
            Cancel
          </Button>
        </div>
      )}
    </div>
  );
}

function ConflictView(props: {
  conflict: Conflict;
  isNew: boolean;
  takeStored: () => void;
  keepMine: () => void;
}) {
  const { stored, mine } = props.conflict;
  return (
    <div class="conflict">
      <div class="failure" role="alert">
        <div>
          <strong>Nothing was written.</strong>{" "}
          {props.isNew
            ? "An item with this key exists already."
            : stored
              ? "Somebody changed this item after you read it."
              : "Somebody deleted this item after you read it."}
        </div>
      </div>
      {stored && (
        <>
          <p class="note">What is stored (−) and what you wrote (+):</p>
          <Diff before={toPlainJson(stored)} after={toPlainJson(mine)} />
        </>
      )}
      <div class="actions">
        <Button kind="primary" onClick={props.keepMine}>
          {stored && !props.isNew ? "Go on editing mine, over what is stored" : "Go on editing"}
        </Button>
        <Button onClick={props.takeStored}>{stored ? "Show what is stored" : "Close"}</Button>
      </div>
    </div>
  );
}

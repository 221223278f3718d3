// The text of an item: edited as JSON or DynamoDB JSON, judged by the design, written only if nobody else wrote.
import { useEffect, useRef, useState } from "preact/hooks";
import { recognize, withKeys, type Entity as DesignEntity, type Recognized } from "../../server/api";
import { primaryKey, type TableDescription } from "../../server/dynamo";
import type { Refusal } from "../../server/http";
import { designOf, readOnly } from "../../server/state";
import { Diff } from "../../ui/diff";
import { Editor } from "../../ui/editor";
import { Button, Failure } from "../../ui/parts";
import { tell } from "../../ui/toasts";
import { emptyItem, type Item } from "../../values/attribute";
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
  const item = emptyItem();
  const isField = (name: string) => entity.fields.some((field) => field.name === name);
  for (const key of entity.keys) if (!isField(key.attribute)) item[key.attribute] = { S: key.template };
  for (const field of entity.fields) {
    // Shards follow from the other fields.
    if (field.type.startsWith("shard")) continue;
    const numeric = /^(u\d+|i\d+|int|decimal|number|float)/.test(field.type);
    item[field.name] ??= numeric ? { N: "0" } : { S: field.values?.[0] ?? "" };
  }
  return item;
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
  const start = was ?? (entity ? skeleton(entity) : emptyItem());
  const [base, setBase] = useState(was);
  const [text, setText] = useState(() => textOf(form, start));
  const [unreadable, setUnreadable] = useState<unknown>(null);
  const [refused, setRefused] = useState<unknown>(null);
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
      setUnreadable(null);
    } catch (error) {
      setUnreadable(error);
    }
  }, [form]);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      try {
        const item = itemOf(shown.current, text);
        setUnreadable(null);
        judged(table.TableName, item, abort.signal).then(
          (told) => !abort.signal.aborted && setKnown(told),
          () => undefined,
        );
      } catch (error) {
        setUnreadable(error);
      }
    }, 250);
    return () => (clearTimeout(timer), abort.abort());
  }, [text]);

  const write = async () => {
    let item: Item;
    try {
      item = itemOf(shown.current, text);
    } catch (error) {
      return setUnreadable(error);
    }
    setBusy(true);
    setRefused(null);
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
      else setRefused(error);
    }
    setBusy(false);
  };

  const makeKeys = async () => {
    const design = designOf(table.TableName);
    if (!entity || !design) return;
    let item: Item;
    try {
      item = itemOf(shown.current, text);
    } catch (error) {
      return setUnreadable(error);
    }
    setBusy(true);
    setRefused(null);
    try {
      const told = await withKeys(design.name, entity, item);
      if (told.made) setText(textOf(shown.current, told.made));
      else setKnown(told);
    } catch (error) {
      setRefused(error);
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
      {unreadable != null && <Failure error={unreadable} />}
      {refused != null && <Failure error={refused} />}
      {problems.length > 0 && <Problems problems={problems} />}
      {known?.entity && !problems.length && !unreadable && (
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
            <Button disabled={busy} onClick={() => void makeKeys()}>
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

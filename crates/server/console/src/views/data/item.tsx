// One item: its values, its references to others, and its text to edit.
import { useEffect, useRef, useState } from "preact/hooks";
import { go, href, route } from "../../router";
import { recognize, type Entity as DesignEntity, type Recognized } from "../../server/api";
import { keyTypes, primaryKey, type TableDescription } from "../../server/dynamo";
import { Refusal } from "../../server/http";
import { designOf, entitiesOf, readOnly } from "../../server/state";
import { bytes, inner, itemSize, kindOf, visible, type Item } from "../../values/attribute";
import { fromDynamoJson, fromPlainJson, toDynamoJson, toPlainJson } from "../../values/json";
import { Diff } from "../../ui/diff";
import { Editor } from "../../ui/editor";
import { Button, Failure, Loading, Tabs, useLoaded } from "../../ui/parts";
import { complain, tell } from "../../ui/toasts";
import { KeyText, Whole } from "../../ui/value";
import { Entity, Problems } from "./rows";
import { change, create, read, remove } from "./write";

type Form = "values" | "json" | "dynamodb";

const FORMS: [Form, string][] = [
  ["values", "Values"],
  ["json", "JSON"],
  ["dynamodb", "DynamoDB"],
];

const textOf = (form: Form, item: Item) => (form === "dynamodb" ? toDynamoJson(item) : toPlainJson(item));
const itemOf = (form: Form, text: string) =>
  form === "dynamodb" ? fromDynamoJson(text) : fromPlainJson(text);

/** What the design says about an item; without a design, nothing. */
async function judged(table: string, item: Item, signal?: AbortSignal): Promise<Recognized | null> {
  const design = designOf(table);
  return design ? ((await recognize(design.name, table, [item], signal))[0] ?? null) : null;
}

function Values({ table, item, known }: { table: TableDescription; item: Item; known: Recognized | null }) {
  const keys = table.KeySchema.map((key) => key.AttributeName);
  const indexed = Object.keys(item).filter((name) => !keys.includes(name) && name in keyTypes(table));
  const others = Object.keys(item).filter((name) => !keys.includes(name) && !indexed.includes(name));
  const names = [...keys, ...others, ...indexed];
  const design = designOf(table.TableName);
  return (
    <dl class="values">
      {names.map((name) => {
        const value = item[name];
        if (!value) return null;
        const parts = known?.keys.find((key) => key.attribute === name)?.parts;
        const reference = known?.references?.find((candidate) => candidate.field === name);
        const target =
          design?.entities.find((entity) => entity.name === reference?.entity)?.table ?? table.TableName;
        return (
          <div key={name}>
            <dt>
              <bdi>{visible(name)}</bdi>
              <span class="type">{kindOf(value)}</span>
            </dt>
            <dd>
              {parts && "S" in value ? (
                <KeyText parts={parts} plain={value.S} />
              ) : (
                <Whole value={value} name={name} />
              )}
              {reference && (
                <a class="reference" href={follow(target, reference.key)}>
                  → {reference.entity}
                </a>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** The address of another item, with its collection beside it. */
function follow(table: string, key: Item): string {
  const first = Object.values(key)[0];
  return href(["data", table], { pk: first && String(inner(first)), item: JSON.stringify(key) });
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

function Edit({ table, was, form, entity, done }: EditProps) {
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

export interface PanelProps {
  table: TableDescription;
  /** The key of the item; `null` for a new one. */
  itemKey: Item | null;
  copyOf?: Item | null;
  close: () => void;
  /** Called after a write. */
  changed: (before: Item | null, after: Item | null) => void;
}

export function ItemPanel(props: PanelProps) {
  return props.itemKey ? <Existing {...props} itemKey={props.itemKey} /> : <NewItem {...props} />;
}

function Head({ title, close }: { title: string; close: () => void }) {
  return (
    <header>
      <h2>{title}</h2>
      <Button kind="quiet" icon="close" aria-label="Close the item" onClick={close} />
    </header>
  );
}

function NewItem({ table, close, changed }: PanelProps) {
  const entities = entitiesOf(table.TableName);
  const [name, setName] = useState(route.value.query.get("entity") ?? entities[0]?.name ?? "");
  const [form, setForm] = useState<Form>("json");
  const entity = entities.find((candidate) => candidate.name === name);
  return (
    <aside class="item-panel" aria-label="New item">
      <Head title="New item" close={close} />
      {entities.length > 0 && (
        <label class="inline">
          Entity
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {entities.map((candidate) => (
              <option key={candidate.name}>{candidate.name}</option>
            ))}
            <option value="">none</option>
          </select>
        </label>
      )}
      <Tabs label="Form" tabs={FORMS.slice(1)} value={form} change={setForm} />
      <Edit
        key={name}
        table={table}
        was={null}
        form={form}
        entity={entity}
        done={(item) => (item ? changed(null, item) : close())}
      />
    </aside>
  );
}

function Existing({ table, itemKey, close, changed }: PanelProps & { itemKey: Item }) {
  const [form, setForm] = useState<Form>("values");
  const loaded = useLoaded(
    async (signal) => {
      const item = await read(table, itemKey);
      const known = item ? await judged(table.TableName, item, signal).catch(() => null) : null;
      return { item, known };
    },
    [table, JSON.stringify(itemKey)],
  );
  const item = loaded.value?.item;
  const known = loaded.value?.known ?? null;
  const erase = async () => {
    if (!item) return;
    try {
      const gone = await remove(table, item);
      changed(item, null);
      const undo = () =>
        void create(table, gone).then(() => (tell("The item is back"), changed(null, gone)), complain);
      tell("Item deleted", { title: "Undo", run: undo });
    } catch (error) {
      const conflict = /ConditionalCheckFailed/.test((error as Refusal).code);
      complain(
        conflict
          ? new Error("Not deleted: somebody changed this item after you read it. Look at it again first.")
          : error,
      );
      if (conflict) loaded.again();
    }
  };
  return (
    <aside class="item-panel" aria-label="Item">
      <Head title={known?.entity ?? "Item"} close={close} />
      {loaded.error ? (
        <Failure error={loaded.error} retry={loaded.again} />
      ) : !loaded.value ? (
        <Loading />
      ) : !item ? (
        <div class="failure" role="alert">
          There is no item with this key any more.
        </div>
      ) : (
        <>
          <div class="bar">
            <Tabs label="Form" tabs={FORMS} value={form} change={setForm} />
            <span class="note">{bytes(itemSize(item))}</span>
            <span class="spacer" />
            <Button
              kind="quiet"
              icon="refresh"
              aria-label="Read again"
              title="Read again"
              onClick={loaded.again}
            />
            {!readOnly.value && (
              <Button
                kind="quiet"
                icon="trash"
                aria-label="Delete the item"
                title="Delete"
                onClick={() => void erase()}
              />
            )}
          </div>
          {form === "values" ? (
            <div class="scrolled" tabIndex={0}>
              {known?.problems?.length ? <Problems problems={known.problems} /> : null}
              <Values table={table} item={item} known={known} />
              <Related table={table} item={item} known={known} />
            </div>
          ) : (
            <Edit
              key={JSON.stringify(item).length + JSON.stringify(itemKey)}
              table={table}
              was={item}
              form={form}
              done={(after) => {
                setForm("values");
                if (after && after !== item) changed(item, after);
                loaded.again();
              }}
            />
          )}
        </>
      )}
    </aside>
  );
}

/** Access patterns that this item's fields can fill in. */
function Related({ table, item, known }: { table: TableDescription; item: Item; known: Recognized | null }) {
  const design = designOf(table.TableName);
  if (!design || !known?.entity) return null;
  const textOf = (field: string) => {
    const value = item[field];
    return value && ("S" in value || "N" in value) ? String(inner(value)) : null;
  };
  const patterns = design.patterns.filter(
    (pattern) => pattern.inputs.length > 0 && pattern.inputs.every((input) => textOf(input.field) !== null),
  );
  if (!patterns.length) return null;
  return (
    <div class="related">
      <h3>Access patterns from here</h3>
      <ul>
        {patterns.slice(0, 12).map((pattern) => (
          <li key={pattern.name}>
            <button
              type="button"
              class="link"
              onClick={() => {
                const inputs = Object.fromEntries(
                  pattern.inputs.map((input) => [`in.${input.field}`, textOf(input.field)]),
                );
                go(["data", table.TableName], {
                  mode: "pattern",
                  pattern: pattern.name,
                  run: "1",
                  ...inputs,
                });
              }}
            >
              {pattern.name}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

// One item: its values, its references to others, and its text to edit.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { go, href, route } from "../../router";
import type { Recognized } from "../../server/api";
import { keyTypes, type TableDescription } from "../../server/dynamo";
import type { Refusal } from "../../server/http";
import { designOf, entitiesOf, readOnly } from "../../server/state";
import { Button, Failure, Loading, Tabs, useLoaded } from "../../ui/parts";
import { complain, tell } from "../../ui/toasts";
import { KeyText, Whole } from "../../ui/value";
import { bytes, inner, itemSize, kindOf, visible, type Item } from "../../values/attribute";
import { Edit, FORMS, judged, type Form } from "./edit";
import { Problems } from "./rows";
import { create, read, remove } from "./write";

function Values({ table, item, known }: { table: TableDescription; item: Item; known: Recognized | null }) {
  const keys = table.KeySchema.map((key) => key.AttributeName);
  const indexed = Object.keys(item).filter((name) => !keys.includes(name) && name in keyTypes(table));
  const others = Object.keys(item).filter((name) => !keys.includes(name) && !indexed.includes(name));
  const names = [...keys, ...others, ...indexed];
  return (
    <dl class="values">
      {names.map((name) => {
        const value = item[name];
        if (!value) return null;
        const parts = known?.keys.find((key) => key.attribute === name)?.parts;
        const reference = known?.references?.find((candidate) => candidate.field === name);
        const target = reference?.table ?? table.TableName;
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

export interface PanelProps {
  table: TableDescription;
  /** The key of the item; `null` for a new one. */
  itemKey: Item | null;
  close: () => void;
  /** Called after a write. */
  changed: (before: Item | null, after: Item | null) => void;
}

export function ItemPanel(props: PanelProps) {
  return props.itemKey ? <Existing {...props} itemKey={props.itemKey} /> : <NewItem {...props} />;
}

function Head({
  title,
  close,
  children,
}: {
  title: string;
  close: () => void;
  children?: ComponentChildren;
}) {
  return (
    <header>
      <h2>{title}</h2>
      <span class="spacer" />
      {children}
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
      <Head title={known?.entity ?? "Item"} close={close}>
        {item && <span class="note">{bytes(itemSize(item))}</span>}
        <Button
          kind="quiet"
          icon="refresh"
          aria-label="Read the item again"
          title="Read again"
          onClick={loaded.again}
        />
        {item && !readOnly.value && (
          <Button
            kind="quiet"
            icon="trash"
            aria-label="Delete the item"
            title="Delete"
            onClick={() => void erase()}
          />
        )}
      </Head>
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
                  pattern.inputs.map((input) => [`in.${input.name}`, textOf(input.field)]),
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

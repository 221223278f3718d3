// The rows of a page: one by one, or as item collections under the key they share.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { go, route } from "../../router";
import type { Recognized } from "../../server/api";
import { keyTypes, primaryKey, type Place, type TableDescription } from "../../server/dynamo";
import { inner, oneLine, type Item } from "../../values/attribute";
import { designOf } from "../../server/state";
import { Grid, type Column } from "../../ui/grid";
import { Badge } from "../../ui/parts";
import { KeyText, Short, fieldColour } from "../../ui/value";
import type { Recognise } from "./recognition";
import { Prose } from "../../ui/prose";

export interface Row {
  item: Item;
  /** The items of a collection, on the row that stands over them. */
  group?: Item[];
}

interface Props {
  table: TableDescription;
  place: Place;
  items: Item[];
  recognise: Recognise;
  collections: boolean;
  selected: Set<Item>;
  select: (items: Set<Item>) => void;
  open: (item: Item) => void;
  current: string | null;
  reachedEnd?: () => void;
}

const MOST_COLUMNS = 40;
const SAMPLE = 100;

/** Key attributes first, then the others as often as they occur. */
function attributeNames(table: TableDescription, place: Place, items: Item[]): string[] {
  const keys = [...place.partitionKey, ...place.sortKey, ...table.KeySchema.map((key) => key.AttributeName)];
  const seen = new Map<string, number>();
  for (const item of items.slice(0, SAMPLE)) {
    for (const name of Object.keys(item)) seen.set(name, (seen.get(name) ?? 0) + 1);
  }
  const others = [...seen].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const isIndexKey = (name: string) => name in keyTypes(table);
  const ordered = [...others.filter((name) => !isIndexKey(name)), ...others.filter(isIndexKey)];
  return [...new Set([...keys, ...ordered])].slice(0, MOST_COLUMNS);
}

function widthOf(name: string, items: Item[], isKey: boolean): number {
  let longest = name.length + 2;
  for (const item of items.slice(0, 40)) {
    const value = item[name];
    if (value) longest = Math.max(longest, oneLine(value, 60).length);
  }
  return Math.max(80, Math.min(isKey ? 330 : 240, longest * 7.2 + 24));
}

export function Entity({ name }: { name: string | null | undefined }) {
  if (!name) return <span class="absent">–</span>;
  return <span class={`entity c${fieldColour(`entity ${name}`)}`}>{name}</span>;
}

function columnsOf(props: Props): Column<Row>[] {
  const { table, place, items, recognise, selected, select } = props;
  const keys = new Set([
    ...place.partitionKey,
    ...place.sortKey,
    ...table.KeySchema.map((key) => key.AttributeName),
  ]);
  const indexed = keyTypes(table);
  const toggle = (item: Item) => {
    const next = new Set(selected);
    if (!next.delete(item)) next.add(item);
    select(next);
  };
  const all = items.length > 0 && selected.size === items.length;
  const choose: Column<Row> = {
    name: " ",
    width: 34,
    title: (
      <input
        type="checkbox"
        aria-label="Select all rows"
        checked={all}
        onChange={() => select(all ? new Set() : new Set(items))}
      />
    ),
    cell: ({ item }, at) => (
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={`Select row ${at + 1}`}
        checked={selected.has(item)}
        onClick={(event) => event.stopPropagation()}
        onChange={() => toggle(item)}
      />
    ),
  };
  const entity: Column<Row> = {
    name: "Entity",
    width: 110,
    cell: ({ item }) => <Entity name={recognise(item)?.entity} />,
  };
  // The row over a collection shows the key that its items share.
  const hidden = props.collections ? new Set(place.partitionKey) : new Set<string>();
  const names = attributeNames(table, place, items).filter((name) => !hidden.has(name));
  const attributes = names.map((name): Column<Row> => ({
    name,
    title: (
      <bdi>
        {name}
        {keys.has(name) && <span class="key-mark"> key</span>}
      </bdi>
    ),
    width: widthOf(name, items, name in indexed),
    cell: ({ item }) => cellOf(name, item, name in indexed ? recognise(item) : undefined),
  }));
  return designOf(table.TableName) ? [choose, entity, ...attributes] : [choose, ...attributes];
}

function cellOf(name: string, item: Item, recognized: Recognized | undefined): ComponentChildren {
  const value = item[name];
  const parts = recognized?.keys.find((key) => key.attribute === name)?.parts;
  return value && "S" in value && parts ? <KeyText parts={parts} plain={value.S} /> : <Short value={value} />;
}

function partitionText(place: Place, item: Item): string {
  return place.partitionKey.map((name) => (item[name] ? oneLine(item[name], 400) : "")).join(" / ");
}

/** Items of one partition under a row of their own; those of a page stand together already. */
function grouped(place: Place, items: Item[]): Row[] {
  const rows: Row[] = [];
  let under: string | null = null;
  let group: Item[] = [];
  for (const item of items) {
    const text = partitionText(place, item);
    if (under !== text) {
      under = text;
      group = [];
      rows.push({ item, group });
    }
    group.push(item);
    rows.push({ item });
  }
  return rows;
}

function Collection({ row, props }: { row: Row; props: Props }) {
  const group = row.group ?? [];
  const names = new Map<string, number>();
  for (const item of group.slice(0, SAMPLE)) {
    const name = props.recognise(item)?.entity;
    if (name) names.set(name, (names.get(name) ?? 0) + 1);
  }
  const attribute = props.place.partitionKey[0] ?? "";
  const value = row.item[attribute];
  const parts = props.recognise(row.item)?.keys.find((key) => key.attribute === attribute)?.parts;
  const only = route.value.query.get("pk");
  return (
    <>
      {parts ? (
        <KeyText parts={parts} plain="" />
      ) : (
        <bdi class="key">{partitionText(props.place, row.item)}</bdi>
      )}
      <span class="note">
        {group.length} {group.length === 1 ? "item" : "items"}
      </span>
      {[...names].map(([name, many]) => (
        <span key={name} class="mix">
          <Entity name={name} /> {many > 1 ? `× ${many}${group.length > SAMPLE ? "+" : ""}` : ""}
        </span>
      ))}
      {!only && value && (
        <button
          type="button"
          class="link"
          tabIndex={-1}
          onClick={(event) => {
            event.stopPropagation();
            const values = props.place.partitionKey.map((name) => row.item[name]);
            go(["data", props.table.TableName], {
              index: props.place.index,
              pk: String(inner(value)),
              pk2: values[1] && String(inner(values[1])),
            });
          }}
        >
          whole collection
        </button>
      )}
    </>
  );
}

export function Rows(props: Props) {
  const rows = useMemo(
    () =>
      props.collections ? grouped(props.place, props.items) : props.items.map((item): Row => ({ item })),
    [props.collections, props.items, props.place],
  );
  const columns = columnsOf(props);
  const current = useMemo(() => {
    const keyOf = (item: Item) => JSON.stringify(primaryKey(props.table, item));
    return props.current ? rows.findIndex((row) => !row.group && keyOf(row.item) === props.current) : null;
  }, [rows, props.current, props.table]);
  return (
    <Grid
      label="Items"
      columns={columns}
      rows={rows}
      current={current}
      open={(row) => !row.group && props.open(row.item)}
      toggle={(row) => {
        const next = new Set(props.selected);
        if (!next.delete(row.item)) next.add(row.item);
        props.select(next);
      }}
      rowClass={(row) => (row.group ? "group" : props.collections ? "inner" : "")}
      whole={(row) => (row.group ? <Collection row={row} props={props} /> : null)}
      reachedEnd={props.reachedEnd}
    />
  );
}

export function Problems({ problems }: { problems: string[] }) {
  return (
    <ul class="problems">
      {problems.map((problem, n) => (
        <li key={n}>
          <Badge kind="warning">design</Badge> <Prose text={problem} />
        </li>
      ))}
    </ul>
  );
}

// Rows that did not come from browsing: of an access pattern, PartiQL or a raw request.
import { useState } from "preact/hooks";
import type { TableDescription } from "../../server/dynamo";
import type { Item } from "../../values/attribute";
import { Grid, type Column } from "../../ui/grid";
import { Empty } from "../../ui/parts";
import { Short } from "../../ui/value";
import { useRecognition } from "./recognition";
import { Rows } from "./rows";

interface Props {
  table: TableDescription;
  items: Item[];
  openItem: (item: Item) => void;
}

export function Results({ table, items, openItem }: Props) {
  const [selected, setSelected] = useState(new Set<Item>());
  const recognise = useRecognition(table.TableName);
  if (!items.length) return <Empty>No rows.</Empty>;
  const keys = table.KeySchema.map((key) => key.AttributeName);
  const whole = items.every((item) => keys.every((name) => item[name]));
  if (!whole) return <Plain items={items} />;
  const place = {
    index: null,
    partitionKey: keys.slice(0, 1),
    sortKey: keys.slice(1),
    local: false,
    projection: "ALL",
  };
  return (
    <Rows
      table={table}
      place={place}
      items={items}
      recognise={recognise}
      collections={false}
      selected={selected}
      select={setSelected}
      open={openItem}
      current={null}
    />
  );
}

/** Rows without their keys can be looked at only. */
function Plain({ items }: { items: Item[] }) {
  const names = [...new Set(items.slice(0, 100).flatMap((item) => Object.keys(item)))].slice(0, 40);
  const columns = names.map((name): Column<Item> => ({
    name,
    width: 180,
    cell: (item) => <Short value={item[name]} />,
  }));
  return <Grid label="Rows" columns={columns} rows={items} />;
}

// Tables and indexes as grids, with a sample of the items that are stored.
import { useState } from "preact/hooks";
import { amend, go, route } from "../../router";
import type { Design } from "../../server/api";
import { dynamo, places, primaryKey, type Page, type Place } from "../../server/dynamo";
import { description } from "../../server/state";
import { oneLine, type Attribute, type Item } from "../../values/attribute";
import { Empty, Failure, Loading, Tabs, useLoaded } from "../../ui/parts";
import { useRecognition } from "../data/recognition";
import { Rows } from "../data/rows";

const SAMPLE = 200;

/** Items made up by the design, as far as they are in this view, in its order. */
function generated(design: Design, all: Place[], table: string, index: string | null): Item[] {
  const place = all.find((candidate) => candidate.index === index);
  const keys = [...(place?.partitionKey ?? []), ...(place?.sortKey ?? [])];
  const text = (item: Item) => keys.map((name) => oneLine(item[name] as Attribute, 200)).join(" ");
  const items = (design.samples?.[table] ?? []).map((sample) => sample.item);
  return items
    .filter((item) => keys.every((name) => item[name]))
    .sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

export function Samples({ design }: { design: Design }) {
  const tableName = route.value.query.get("table") ?? design.tables[0]?.name ?? "";
  const index = route.value.query.get("index");
  const [selected, setSelected] = useState(new Set<Item>());
  const recognise = useRecognition(tableName);
  const loaded = useLoaded(
    async (signal) => {
      const table = await description(tableName);
      const asked = { TableName: tableName, Limit: SAMPLE, ...(index ? { IndexName: index } : {}) };
      const stored = (await dynamo<Page>("Scan", asked, signal)).Items ?? [];
      return {
        table,
        index,
        isStored: stored.length > 0,
        items: stored.length ? stored : generated(design, places(table), tableName, index),
      };
    },
    [tableName, index],
  );
  const table = design.tables.find((candidate) => candidate.name === tableName);
  const views: [string, string][] = [
    ["", "table"],
    ...(table?.indexes ?? []).map((of): [string, string] => [of.name, of.name]),
  ];
  const place = loaded.value && places(loaded.value.table).find((candidate) => candidate.index === index);
  return (
    <div class="browse">
      <div class="bar">
        {design.tables.length > 1 && (
          <select
            aria-label="Table"
            value={tableName}
            onChange={(event) => amend({ table: event.currentTarget.value, index: null })}
          >
            {design.tables.map((candidate) => (
              <option key={candidate.name}>{candidate.name}</option>
            ))}
          </select>
        )}
        <Tabs
          label="Table or index"
          tabs={views}
          value={index ?? ""}
          change={(next) => amend({ index: next || null })}
        />
        <span class="note">
          {loaded.value?.isStored === false
            ? "nothing is stored yet: items made up by the design"
            : "a sample of stored items, as they lie in it"}
        </span>
      </div>
      {loaded.error ? (
        <Failure error={loaded.error} retry={loaded.again} />
      ) : !loaded.value || !place || loaded.value.index !== index ? (
        <Loading />
      ) : loaded.value.items.length ? (
        <Rows
          table={loaded.value.table}
          place={place}
          items={loaded.value.items}
          recognise={recognise}
          collections={place.sortKey.length > 0}
          selected={selected}
          select={setSelected}
          open={(item) =>
            loaded.value &&
            go(["data", tableName], { item: JSON.stringify(primaryKey(loaded.value.table, item)), index })
          }
          current={null}
        />
      ) : (
        <Empty>Nothing is stored here yet.</Empty>
      )}
    </div>
  );
}

// Tables and indexes as grids, with a sample of the items that are stored.
import { useState } from "preact/hooks";
import { amend, go, route } from "../../router";
import type { Design } from "../../server/api";
import { dynamo, places, primaryKey, type Page } from "../../server/dynamo";
import { description } from "../../server/state";
import type { Item } from "../../values/attribute";
import { Empty, Failure, Loading, Tabs, useLoaded } from "../../ui/parts";
import { useRecognition } from "../data/recognition";
import { Rows } from "../data/rows";

const SAMPLE = 200;

export function Samples({ design }: { design: Design }) {
  const tableName = route.value.query.get("table") ?? design.tables[0]?.name ?? "";
  const index = route.value.query.get("index");
  const [selected, setSelected] = useState(new Set<Item>());
  const recognise = useRecognition(tableName);
  const loaded = useLoaded(
    async (signal) => {
      const table = await description(tableName);
      const asked = { TableName: tableName, Limit: SAMPLE, ...(index ? { IndexName: index } : {}) };
      return { table, index, items: (await dynamo<Page>("Scan", asked, signal)).Items ?? [] };
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
        <span class="note">a sample of stored items, as they lie in it</span>
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

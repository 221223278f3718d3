// Data: the tables at the side, one table in the middle, one item beside it.
import { useState } from "preact/hooks";
import { amend, go, href, route } from "../../router";
import { primaryKey, type TableDescription } from "../../server/dynamo";
import {
  description,
  designOf,
  designs,
  readOnly,
  refreshTables,
  tables,
  tablesComplete,
} from "../../server/state";
import type { Item } from "../../values/attribute";
import { Grid } from "../../ui/grid";
import { Button, count, Empty, Failure, Loading, Tabs, useLoaded } from "../../ui/parts";
import { Browse } from "./browse";
import { ItemPanel } from "./item";
import { PatternRunner } from "./pattern";
import { PartiQl, RawRequest } from "./statement";
import { ExportDialog, ImportDialog } from "./transfer";

type Mode = "browse" | "pattern" | "partiql" | "request";

function TableList({ current }: { current: string }) {
  const [typed, setTyped] = useState("");
  const all = tables.value;
  const text = typed.toLowerCase();
  const shown = all?.filter((name) => name.toLowerCase().includes(text)) ?? [];
  return (
    <section class="table-list" aria-label="Tables">
      <div class="search">
        <input
          type="search"
          placeholder="Filter tables"
          aria-label="Filter tables"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <Button
          kind="quiet"
          icon="refresh"
          aria-label="List the tables again"
          onClick={() => void refreshTables()}
        />
      </div>
      {all === null ? (
        <Loading what="Listing tables" />
      ) : (
        <Grid
          label="Tables"
          columns={[
            {
              name: `${count(shown.length)} ${shown.length === 1 ? "table" : "tables"}${tablesComplete.value ? "" : " …"}`,
              width: 178,
              cell: (name) => <bdi title={name}>{name}</bdi>,
            },
          ]}
          rows={shown}
          current={shown.indexOf(current)}
          open={(name) => go(["data", name])}
        />
      )}
    </section>
  );
}

function itemInAddress(): Item | "new" | null {
  const text = route.value.query.get("item");
  if (text === "new") return "new";
  try {
    return text ? (JSON.parse(text) as Item) : null;
  } catch {
    return null;
  }
}

function OneTable({ table }: { table: TableDescription }) {
  const name = table.TableName;
  const [round, setRound] = useState(0);
  const [dialog, setDialog] = useState<"import" | "export" | null>(null);
  const mode = (route.value.query.get("mode") as Mode | null) ?? "browse";
  const item = itemInAddress();
  const again = () => setRound((n) => n + 1);
  const openItem = (chosen: Item) =>
    amend({ item: JSON.stringify(primaryKey(table, chosen)) }, item !== null);
  const close = () => amend({ item: null }, true);
  const tabs: [Mode, string][] = [
    ["browse", "Browse"],
    ...((designOf(name) ? [["pattern", "Access patterns"]] : []) as [Mode, string][]),
    ["partiql", "PartiQL"],
    ["request", "Request"],
  ];
  return (
    <div class="one-table">
      <div class="title-bar">
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <Tabs
          label="How to look"
          tabs={tabs}
          value={mode}
          change={(next) => go(["data", name], { mode: next === "browse" ? null : next })}
        />
        <span class="spacer" />
        {!readOnly.value && (
          <Button icon="plus" onClick={() => amend({ item: "new" })}>
            New item
          </Button>
        )}
        {!readOnly.value && (
          <Button kind="quiet" icon="upload" title="Import" onClick={() => setDialog("import")}>
            Import
          </Button>
        )}
        <Button kind="quiet" icon="download" title="Export" onClick={() => setDialog("export")}>
          Export
        </Button>
        <Button kind="quiet" icon="refresh" aria-label="Read again" title="Read again" onClick={again} />
      </div>
      <div class={`with-panel ${item ? "open" : ""}`}>
        {mode === "browse" && <Browse table={table} round={round} openItem={openItem} />}
        {mode === "pattern" && <PatternRunner design={designOf(name)} table={table} openItem={openItem} />}
        {mode === "partiql" && <PartiQl table={table} openItem={openItem} />}
        {mode === "request" && <RawRequest table={table} openItem={openItem} />}
        {item && (
          <ItemPanel
            key={JSON.stringify(item)}
            table={table}
            itemKey={item === "new" ? null : item}
            close={close}
            changed={(_, after) => {
              if (after) amend({ item: JSON.stringify(primaryKey(table, after)) }, true);
              else close();
              again();
            }}
          />
        )}
      </div>
      {dialog === "import" && <ImportDialog table={name} close={() => setDialog(null)} done={again} />}
      {dialog === "export" && <ExportDialog table={name} close={() => setDialog(null)} />}
    </div>
  );
}

function Described({ name }: { name: string }) {
  const table = useLoaded(() => description(name), [name]);
  if (table.error) {
    return (
      <div class="one-table">
        <Failure error={table.error} retry={table.again} />
        <p class="note">
          <a href={href(["data"])}>All tables</a>
        </p>
      </div>
    );
  }
  if (!table.value || table.value.TableName !== name) return <Loading what="Reading the table" />;
  return <OneTable table={table.value} />;
}

export function DataView() {
  const name = route.value.path[1] ?? designs.value[0]?.tables[0]?.name ?? tables.value?.[0];
  return (
    <div class="data">
      <TableList current={name ?? ""} />
      {name ? (
        <Described key={name} name={name} />
      ) : tables.value ? (
        <Empty>There are no tables yet.</Empty>
      ) : (
        <Loading />
      )}
    </div>
  );
}

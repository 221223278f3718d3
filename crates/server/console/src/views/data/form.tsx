// What to show of a table: the view, the entity, the partition, the range of sort keys, the order.
import { useEffect, useState } from "preact/hooks";
import { amend, route } from "../../router";
import type { Entity } from "../../server/api";
import { places, type TableDescription } from "../../server/dynamo";
import { entitiesOf } from "../../server/state";
import { Button } from "../../ui/parts";
import { isQuery, type Asked, type SortOp } from "./query";

const OPS: [SortOp, string][] = [
  ["begins", "begins with"],
  ["=", "="],
  ["<", "<"],
  ["<=", "≤"],
  [">", ">"],
  [">=", "≥"],
  ["between", "between"],
];

/** The literal beginning of a template, for finding an entity's items in a scan. */
function literalPrefix(entity: Entity, attribute: string | undefined): string {
  const pieces = entity.keys.find((key) => key.attribute === attribute)?.pieces ?? [];
  let prefix = "";
  for (const piece of pieces) {
    if (!("literal" in piece)) break;
    prefix += piece.literal;
  }
  return prefix;
}

export function QueryForm({ asked, table }: { asked: Asked; table: TableDescription }) {
  const all = places(table);
  const [pk, setPk] = useState(asked.partition);
  const [sk, setSk] = useState(asked.sort);
  const [to, setTo] = useState(asked.sortTo);
  const [op, setOp] = useState<SortOp>(asked.sortOp);
  const key = JSON.stringify([asked.partition, asked.sort, asked.sortTo, asked.sortOp, asked.place.index]);
  useEffect(() => {
    setPk(asked.partition);
    setSk(asked.sort);
    setTo(asked.sortTo);
    setOp(asked.sortOp);
  }, [key]);
  const entities = entitiesOf(table.TableName);
  const entity = route.value.query.get("entity") ?? "";
  const submit = (event?: Event) => {
    event?.preventDefault();
    amend({
      pk: pk[0],
      pk2: pk[1],
      pk3: pk[2],
      pk4: pk[3],
      sk,
      to,
      op: op === "begins" ? null : op,
      from: null,
      item: null,
    });
  };
  const chooseEntity = (name: string) => {
    const chosen = entities.find((candidate) => candidate.name === name);
    const cleared: Record<string, string | null> = {};
    for (const prefix of Object.keys(asked.prefixes)) cleared[`prefix.${prefix}`] = null;
    if (chosen) {
      for (const attribute of [asked.place.partitionKey[0], asked.place.sortKey[0]]) {
        if (attribute) cleared[`prefix.${attribute}`] = literalPrefix(chosen, attribute) || null;
      }
    }
    amend({ entity: name || null, from: null, item: null, pk: null, sk: null, ...cleared });
  };
  return (
    <form class="ask" onSubmit={submit} aria-label="What to show">
      <label>
        View
        <select
          value={asked.place.index ?? ""}
          onChange={(event) =>
            amend({
              index: event.currentTarget.value || null,
              pk: null,
              pk2: null,
              sk: null,
              from: null,
              entity: null,
            })
          }
        >
          {all.map((place) => (
            <option key={place.index ?? ""} value={place.index ?? ""}>
              {place.index ?? "table"} ({[...place.partitionKey, ...place.sortKey].join(", ")})
            </option>
          ))}
        </select>
      </label>
      {entities.length > 0 && (
        <label>
          Entity
          <select value={entity} onChange={(event) => chooseEntity(event.currentTarget.value)}>
            <option value="">all</option>
            {entities.map((candidate) => (
              <option key={candidate.name}>{candidate.name}</option>
            ))}
          </select>
        </label>
      )}
      {asked.place.partitionKey.map((name, n) => (
        <label key={name} class="wide">
          {name}
          <input
            type="text"
            data-search={n === 0 ? true : undefined}
            spellcheck={false}
            placeholder={n ? "" : "all partitions ( / )"}
            value={pk[n] ?? ""}
            onInput={(event) => setPk(pk.map((old, at) => (at === n ? event.currentTarget.value : old)))}
          />
        </label>
      ))}
      {asked.place.sortKey[0] && (
        <label class="wide">
          {asked.place.sortKey[0]}
          <span class="joined">
            <select
              aria-label="Comparison"
              value={op}
              onChange={(event) => setOp(event.currentTarget.value as SortOp)}
            >
              {OPS.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
            <input
              type="text"
              spellcheck={false}
              aria-label={`Value of ${asked.place.sortKey[0]}`}
              value={sk}
              disabled={!pk[0]}
              onInput={(event) => setSk(event.currentTarget.value)}
            />
            {op === "between" && (
              <input
                type="text"
                aria-label="and"
                value={to}
                onInput={(event) => setTo(event.currentTarget.value)}
              />
            )}
          </span>
        </label>
      )}
      <label>
        Order
        <select
          value={asked.backward ? "back" : ""}
          disabled={!isQuery(asked)}
          onChange={(event) => amend({ dir: event.currentTarget.value || null, from: null })}
        >
          <option value="">ascending</option>
          <option value="back">descending</option>
        </select>
      </label>
      <Button kind="primary" type="submit">
        Show
      </Button>
    </form>
  );
}

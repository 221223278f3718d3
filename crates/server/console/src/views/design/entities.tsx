// The entity chart: each entity's keys in each view of its table, with the fields in colours.
import { href } from "../../router";
import type { Design, Entity, Field, Piece } from "../../server/api";
import { brief, Panel } from "../../ui/parts";
import { fieldColour } from "../../ui/value";
import { bytes } from "../../values/attribute";
import { Entity as EntityName } from "../data/rows";

export function Template({ pieces }: { pieces: Piece[] }) {
  return (
    <span class="key">
      {pieces.map((piece, n) =>
        "literal" in piece ? (
          <span key={n} class="literal">
            {piece.literal}
          </span>
        ) : (
          <span key={n} class={`field c${fieldColour(piece.field)}`}>
            {`{${piece.field}${piece.format ? `:${piece.format}` : ""}}`}
          </span>
        ),
      )}
    </span>
  );
}

function Key({ entity, attribute }: { entity: Entity; attribute: string }) {
  const key = entity.keys.find((candidate) => candidate.attribute === attribute);
  if (!key) return <span class="absent">–</span>;
  return (
    <>
      <Template pieces={key.pieces} />
      {key.when && <div class="note">when {key.when}</div>}
    </>
  );
}

function Chart({ design, table }: { design: Design; table: Design["tables"][number] }) {
  const entities = design.entities.filter((entity) => entity.table === table.name);
  const views = [
    { name: "table", keys: [table.partitionKey, table.sortKey].flat() },
    ...table.indexes.map((index) => ({ name: index.name, keys: [...index.partitionKey, ...index.sortKey] })),
  ];
  const attributes = [...new Set(views.flatMap((view) => view.keys).filter((key): key is string => !!key))];
  const used = (name: string) => views.filter((view) => view.keys.includes(name)).map((view) => view.name);
  return (
    <Panel title={<bdi>{table.name}</bdi>} aside={<a href={href(["data", table.name])}>Data</a>}>
      <div class="scrolled" tabIndex={0}>
        <table class="chart-table">
          <thead>
            <tr>
              <th>Entity</th>
              {attributes.map((name) => (
                <th key={name}>
                  {name} <span class="type">{used(name).join(", ")}</span>
                </th>
              ))}
              <th class="right">Items</th>
              <th class="right">Size</th>
            </tr>
          </thead>
          <tbody>
            {entities.map((entity) => (
              <tr key={entity.name}>
                <td>
                  <EntityName name={entity.name} />
                </td>
                {attributes.map((name) => (
                  <td key={name}>
                    <Key entity={entity} attribute={name} />
                  </td>
                ))}
                <td class="right">{entity.count != null ? brief(entity.count) : "–"}</td>
                <td class="right">{entity.size != null ? bytes(entity.size) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

/** The type without its limits and values, which have a column of their own. */
const kindOf = (field: Field) =>
  field.values ? "enum" : field.max ? field.type.replace(`:${field.max}`, "") : field.type;

export function Entities({ design }: { design: Design }) {
  return (
    <div class="scrolled stacked" tabIndex={0}>
      {design.tables.map((table) => (
        <Chart key={table.name} design={design} table={table} />
      ))}
      <div class="cards">
        {design.entities.map((entity) => (
          <Panel
            key={entity.name}
            title={<EntityName name={entity.name} />}
            aside={<span class="note">{entity.table}</span>}
          >
            <table>
              <tbody>
                {entity.fields.map((field) => (
                  <tr key={field.name}>
                    <td>
                      <span class={`mono c${fieldColour(field.name)}`}>{field.name}</span>
                    </td>
                    <td class="mono">{kindOf(field)}</td>
                    <td class="note">
                      {field.references
                        ? `→ ${field.references.entity}`
                        : field.values
                          ? field.values.join(", ")
                          : field.max
                            ? `≤ ${field.max}`
                            : ""}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Panel>
        ))}
      </div>
    </div>
  );
}

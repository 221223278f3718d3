// Values as people read them: shortened in tables, whole in the panel of an item. Everything is text to the page:
// nothing of an item is ever parsed as HTML.
import { useState } from "preact/hooks";
import {
  base64Length,
  bytes,
  hex,
  inner,
  kindOf,
  KINDS,
  oneLine,
  sizeOf,
  visible,
  type Attribute,
} from "../values/attribute";
import type { KeyPart } from "../server/api";
import { Button, save } from "./parts";

export function Short({ value }: { value: Attribute | undefined }) {
  if (!value) return <span class="absent">–</span>;
  const kind = kindOf(value);
  return (
    <bdi class={`value kind-${kind}`} title={KINDS[kind]}>
      {oneLine(value)}
    </bdi>
  );
}

const PALETTE = 8;

const coloured = new Map<string, number>();

/** The colour of a field or an entity, the same wherever it stands; neighbours get different ones. */
export function fieldColour(name: string): number {
  const known = coloured.get(name);
  if (known !== undefined) return known;
  const next = coloured.size % PALETTE;
  coloured.set(name, next);
  return next;
}

/** A key with the parts of its template in colours. */
export function KeyText({ parts, plain }: { parts?: KeyPart[] | undefined; plain: string }) {
  if (!parts?.length) return <bdi class="key">{visible(plain.slice(0, 400))}</bdi>;
  return (
    <bdi class="key">
      {parts.map((part, at) =>
        part.field ? (
          <span key={at} class={`field c${fieldColour(part.field)}`} title={part.field}>
            {visible(part.text.slice(0, 400))}
          </span>
        ) : (
          <span key={at} class="literal">
            {visible(part.text.slice(0, 400))}
          </span>
        ),
      )}
    </bdi>
  );
}

const LONG = 4000;

function LongText({ text, name }: { text: string; name: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? text : text.slice(0, LONG);
  return (
    <div class="long">
      <pre dir="auto" class="text" tabIndex={text.length > 300 ? 0 : undefined}>
        {shown}
      </pre>
      {text.length > LONG && (
        <div class="more">
          {whole ? "All" : `First ${LONG.toLocaleString("en-US")}`} of {text.length.toLocaleString("en-US")}{" "}
          characters
          <Button kind="quiet" onClick={() => setWhole(!whole)}>
            {whole ? "Show less" : "Show all"}
          </Button>
          <Button kind="quiet" icon="download" onClick={() => save(`${name}.txt`, new Blob([text]))}>
            Save
          </Button>
        </div>
      )}
    </div>
  );
}

function Binary({ base64, name }: { base64: string; name: string }) {
  const whole = () => {
    const text = atob(base64);
    save(`${name}.bin`, new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))]));
  };
  return (
    <div class="binary">
      <code>{hex(base64, 96)}</code>
      <div class="more">
        {bytes(base64Length(base64))}
        <Button kind="quiet" icon="download" onClick={whole}>
          Save
        </Button>
      </div>
    </div>
  );
}

const MANY = 100;

function Members({ entries, name }: { entries: [string, Attribute][]; name: string }) {
  const [most, setMost] = useState(MANY);
  return (
    <div class="members">
      {entries.slice(0, most).map(([label, value]) => (
        <div class="member" key={label}>
          <bdi class="label">{visible(label.slice(0, 200))}</bdi>
          <Whole value={value} name={`${name}.${label}`} />
        </div>
      ))}
      {entries.length > most && (
        <Button kind="quiet" onClick={() => setMost(most + 1000)}>
          {entries.length - most} more
        </Button>
      )}
    </div>
  );
}

/** A value in full, with its type. */
export function Whole({ value, name }: { value: Attribute; name: string }) {
  const kind = kindOf(value);
  if ("S" in value) return <LongText text={value.S} name={name} />;
  if ("B" in value) return <Binary base64={value.B} name={name} />;
  if ("M" in value || "L" in value) {
    const entries: [string, Attribute][] =
      "M" in value ? Object.entries(value.M) : value.L.map((member, n) => [String(n), member]);
    return entries.length ? (
      <details open={entries.length <= 12}>
        <summary>
          {KINDS[kind]} of {entries.length}, {bytes(sizeOf(value))}
        </summary>
        <Members entries={entries} name={name} />
      </details>
    ) : (
      <span class="absent">empty {KINDS[kind]}</span>
    );
  }
  if ("SS" in value || "NS" in value || "BS" in value) {
    const all = inner(value) as string[];
    return (
      <div class="set">
        {all.slice(0, 500).map((member, n) => (
          <bdi class={`chip kind-${kind}`} key={n}>
            {kind === "BS" ? hex(member, 16) : visible(member.slice(0, 400))}
          </bdi>
        ))}
        {all.length > 500 && <span class="absent">… {all.length} members</span>}
      </div>
    );
  }
  return <bdi class={`value kind-${kind}`}>{oneLine(value)}</bdi>;
}

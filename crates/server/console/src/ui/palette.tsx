// Ctrl-K: go anywhere by typing a few letters.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { designs, info, tables } from "../server/state";
import { go } from "../router";
import { cycleTheme } from "./theme";

interface Command {
  title: string;
  kind: string;
  run: () => void;
}

export const paletteOpen = signal(false);

function commands(): Command[] {
  const view = (title: string, path: string): Command => ({ title, kind: "view", run: () => go([path]) });
  const of: Command[] = [
    view("Overview", "overview"),
    view("Heat map", "heat"),
    view("Data", "data"),
    view("Design", "design"),
    view("Doctor", "doctor"),
    view("New design", "new"),
    view("Simulator", "simulate"),
    view("Migration", "migrate"),
    { title: "Switch between light and dark", kind: "command", run: cycleTheme },
  ];
  for (const design of designs.value) {
    of.push({ title: design.title, kind: "design", run: () => go(["design", design.name]) });
    for (const pattern of design.patterns) {
      const run = () =>
        go(["data", pattern.table ?? design.tables[0]?.name ?? ""], {
          mode: "pattern",
          pattern: pattern.name,
        });
      of.push({ title: pattern.name, kind: "access pattern", run });
    }
    for (const entity of design.entities) {
      const run = () => go(["data", entity.table], { entity: entity.name });
      of.push({ title: entity.name, kind: "entity", run });
    }
  }
  for (const name of tables.value ?? [])
    of.push({ title: name, kind: "table", run: () => go(["data", name]) });
  if (info.value?.signing === "required")
    of.push({ title: "Sign out", kind: "command", run: () => go(["sign-out"]) });
  return of;
}

/** How well a title fits what was typed: letters in order, words' beginnings first; `null` where it does not. */
function fit(title: string, typed: string): number | null {
  const text = title.toLowerCase();
  const at = text.indexOf(typed);
  if (at >= 0) return at === 0 ? 0 : /\W/.test(text[at - 1] ?? "") ? 1 : 2;
  let from = 0;
  for (const letter of typed) {
    from = text.indexOf(letter, from) + 1;
    if (!from) return null;
  }
  return 3;
}

function found(typed: string): Command[] {
  const text = typed.trim().toLowerCase();
  const all = commands();
  if (!text) return all.slice(0, 50);
  const fitting: [number, Command][] = [];
  for (const command of all) {
    const how = fit(command.title, text);
    if (how !== null) fitting.push([how, command]);
  }
  return fitting
    .sort((a, b) => a[0] - b[0])
    .slice(0, 50)
    .map(([, command]) => command);
}

export function Palette() {
  return paletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const results = found(typed);
  const close = () => (paletteOpen.value = false);
  // Before the next key is pressed: what is typed at once belongs here.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    return () => dialog.current?.close();
  }, []);
  useEffect(
    () => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }),
    [at],
  );
  const keys = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(results.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") {
      close();
      results[at]?.run();
    } else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Go to"
      onCancel={close}
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={results[at] ? `palette-${at}` : undefined}
        aria-label="Go to a view, table, entity or access pattern"
        placeholder="Go to a view, table, entity or access pattern"
        value={typed}
        autofocus
        spellcheck={false}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={keys}
      />
      <div id="palette-list" role="listbox" aria-label="Results" ref={list}>
        {results.map((command, n) => (
          <div
            key={n}
            id={`palette-${n}`}
            role="option"
            aria-selected={n === at}
            onClick={() => {
              close();
              command.run();
            }}
          >
            <bdi>{command.title}</bdi>
            <span class="kind">{command.kind}</span>
          </div>
        ))}
        {!results.length && <div class="none">Nothing is called that.</div>}
      </div>
    </dialog>
  );
}

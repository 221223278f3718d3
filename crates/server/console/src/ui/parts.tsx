// The small parts that every view is made of.
import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal, wayOut } from "../server/http";
import { Prose } from "./prose";
import { Icon, type IconName } from "./icons";

export function Button(
  props: Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon" | "type"> & {
    icon?: IconName;
    kind?: "primary" | "danger" | "quiet";
    disabled?: boolean;
    type?: "button" | "submit";
    children?: ComponentChildren;
  },
) {
  const { icon, kind, children, class: extra, type, ...rest } = props;
  return (
    <button type={type ?? "button"} class={`button ${kind ?? ""} ${(extra as string) ?? ""}`} {...rest}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </button>
  );
}

export function Panel(props: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    <section class={`panel ${props.class ?? ""}`}>
      {(props.title || props.aside) && (
        <header>
          <h2>{props.title}</h2>
          <div class="aside">{props.aside}</div>
        </header>
      )}
      {props.children}
    </section>
  );
}

/** Something that went wrong, with what the server said about it. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const refused = error instanceof Refusal ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  const hint = refused && wayOut(refused);
  return (
    <div class="failure" role="alert">
      <Icon name="warn" />
      <div>
        {refused && refused.status > 0 && <strong>{refused.code}</strong>} <span class="text">{message}</span>
        {hint && (
          <p class="hint">
            <Prose text={hint} />
          </p>
        )}
      </div>
      {retry && (
        <Button kind="quiet" icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function Loading({ what = "Loading" }: { what?: string }) {
  return (
    <div class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {what}…
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

export function Badge({ kind, children }: { kind?: string; children: ComponentChildren }) {
  return <span class={`badge ${kind ?? ""}`}>{children}</span>;
}

export function Tabs<T extends string>(props: {
  label: string;
  tabs: [T, string][];
  value: T;
  change: (value: T) => void;
}) {
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const at = props.tabs.findIndex(([value]) => value === props.value);
    const next = props.tabs[(at + step + props.tabs.length) % props.tabs.length];
    if (next) props.change(next[0]);
    event.preventDefault();
    requestAnimationFrame(() => {
      const list = event.currentTarget as HTMLElement | null;
      list?.querySelector<HTMLElement>("[aria-selected=true]")?.focus();
    });
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} onKeyDown={keys}>
      {props.tabs.map(([value, title]) => (
        <button
          key={value}
          type="button"
          role="tab"
          aria-selected={value === props.value}
          tabIndex={value === props.value ? 0 : -1}
          onClick={() => props.change(value)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

/** A dialog over the page; Escape closes it, and the focus goes back to where it was. */
export function Dialog(props: {
  title: string;
  close: () => void;
  wide?: boolean;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement as HTMLElement | null;
    dialog?.showModal();
    return () => {
      dialog?.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={props.wide ? "wide" : ""}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault();
        props.close();
      }}
      onClick={(event) => event.target === element.current && props.close()}
    >
      <header>
        <h2>
          <Prose text={props.title} />
        </h2>
        <Button kind="quiet" icon="close" aria-label="Close" onClick={props.close} />
      </header>
      <div class="body">{props.children}</div>
    </dialog>
  );
}

export interface Loadable<T> {
  value: T | undefined;
  error: unknown;
  loading: boolean;
  again: () => void;
}

/** Loads something when `keys` change; a late answer to an earlier question is dropped. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, keys: unknown[]): Loadable<T> {
  const [state, setState] = useState<{ value?: T; error?: unknown; loading: boolean }>({ loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ value: before.value, loading: true }));
    load(abort.signal).then(
      (value) => !abort.signal.aborted && setState({ value, loading: false }),
      (error: unknown) => !abort.signal.aborted && setState({ error, loading: false }),
    );
    return () => abort.abort();
  }, [...keys, round]);
  return {
    value: state.value,
    error: state.error,
    loading: state.loading,
    again: () => setRound((n) => n + 1),
  };
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A figure in few characters: 1,234, 12.3 k, 4.5 M. */
export function brief(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  if (size >= 100 || Number.isInteger(value)) return count(value);
  return value.toFixed(size < 1 ? 2 : 1);
}

/** Lets the browser save a file. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A figure. */
export function Tile({
  title,
  value,
  note,
  kind,
}: {
  title: string;
  value: string;
  note?: string;
  kind?: string;
}) {
  return (
    <div class={`tile ${kind ?? ""}`}>
      <div class="title">{title}</div>
      <div class="figure">{value}</div>
      {note && <div class="note">{note}</div>}
    </div>
  );
}

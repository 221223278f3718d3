// A table that draws only the rows in sight: a hundred thousand rows scroll as easily as ten. Keyboard: arrows, Page
// Up/Down, Home and End move, Enter opens, Space selects.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<T> {
  name: string;
  title?: ComponentChildren;
  width: number;
  align?: "right";
  cell: (row: T, at: number) => ComponentChildren;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  current?: number | null;
  open?: (row: T, at: number) => void;
  toggle?: (row: T, at: number) => void;
  rowClass?: (row: T, at: number) => string;
  /** What a row shows over its whole width instead of cells. */
  whole?: (row: T, at: number) => ComponentChildren | null;
  /** Called when the last rows come into sight. */
  reachedEnd?: () => void;
  /** Grows with its rows up to this height instead of filling its place. */
  maxHeight?: number;
}

export const ROW = 28;
const MORE = 8;

export function Grid<T>(props: Props<T>) {
  const { rows, columns } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 600 });
  const [focus, setFocus] = useState(0);
  const pending = useRef(0);

  const measure = () => {
    pending.current = 0;
    const element = scroller.current;
    if (element) setSeen({ top: element.scrollTop, height: element.clientHeight });
  };
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => () => cancelAnimationFrame(pending.current), []);

  const first = Math.max(0, Math.min(Math.floor(seen.top / ROW) - MORE, rows.length - 1));
  const end = Math.min(rows.length, Math.ceil((seen.top + seen.height) / ROW) + MORE);
  useEffect(() => {
    if (end >= rows.length && rows.length) props.reachedEnd?.();
  }, [end, rows.length]);

  const reveal = (at: number) => {
    const element = scroller.current;
    if (!element) return;
    const top = at * ROW;
    const below = top + 2 * ROW - element.clientHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (below > element.scrollTop) element.scrollTop = below;
  };
  const keys = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const page = Math.max(1, Math.floor(seen.height / ROW) - 2);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -rows.length,
      End: rows.length,
    };
    const step = steps[event.key];
    const row = rows[focus];
    if (step !== undefined) {
      const next = Math.max(0, Math.min(rows.length - 1, focus + step));
      setFocus(next);
      reveal(next);
    } else if (event.key === "Enter" && row !== undefined) props.open?.(row, focus);
    else if (event.key === " " && row !== undefined) props.toggle?.(row, focus);
    else return;
    event.preventDefault();
  };

  const width = columns.reduce((sum, column) => sum + column.width, 0);
  const template = columns.map((column) => `${column.width}px`).join(" ");
  const id = useRef(`grid${Math.random().toString(36).slice(2, 8)}`).current;
  const drawn = [];
  // Rows that leave at one end come back at the other: changing a row's texts is quicker than making one.
  const slots = Math.ceil(seen.height / ROW) + 2 * MORE + 2;
  for (let at = first; at < end; at++) {
    const row = rows[at] as T;
    const whole = props.whole?.(row, at);
    const classes = [
      "row",
      at === props.current ? "current" : "",
      at === focus ? "focus" : "",
      at % 2 ? "odd" : "",
    ];
    drawn.push(
      <div
        key={at % slots}
        id={`${id}-${at}`}
        role="row"
        aria-rowindex={at + 2}
        aria-selected={props.open ? at === props.current : undefined}
        class={`${classes.filter(Boolean).join(" ")} ${props.rowClass?.(row, at) ?? ""}`}
        style={{ top: `${at * ROW}px`, gridTemplateColumns: template }}
        onClick={() => {
          setFocus(at);
          props.open?.(row, at);
        }}
      >
        {whole ? (
          <div role="gridcell" aria-colspan={columns.length} class="cell whole">
            {whole}
          </div>
        ) : (
          columns.map((column) => (
            <div key={column.name} role="gridcell" class={`cell ${column.align ?? ""}`}>
              {column.cell(row, at)}
            </div>
          ))
        )}
      </div>,
    );
  }
  const height = rows.length * ROW;
  return (
    <div
      class={`grid ${props.maxHeight ? "growing" : ""}`}
      ref={scroller}
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={rows.length && focus >= first && focus < end ? `${id}-${focus}` : undefined}
      tabIndex={0}
      style={props.maxHeight ? { maxHeight: `${props.maxHeight}px`, height: `${height + ROW + 2}px` } : {}}
      onScroll={() => {
        if (!pending.current) pending.current = requestAnimationFrame(measure);
      }}
      onKeyDown={keys}
    >
      <div role="rowgroup" class="head" style={{ minWidth: `${width}px` }}>
        <div role="row" aria-rowindex={1} class="row" style={{ gridTemplateColumns: template }}>
          {columns.map((column) => (
            <div key={column.name} role="columnheader" class={`cell ${column.align ?? ""}`}>
              {column.title ?? column.name}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="body" style={{ height: `${height}px`, minWidth: `${width}px` }}>
        {drawn}
      </div>
    </div>
  );
}

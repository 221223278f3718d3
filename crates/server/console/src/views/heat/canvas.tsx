// The map on the page: hover or arrow keys name a cell, dragging zooms into it, Escape leaves.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Heat } from "../../server/api";
import { brief } from "../../ui/parts";
import { dark } from "../../ui/theme";
import { visible } from "../../values/attribute";
import { described, draw, type Cell, type Window } from "./picture";

interface Props {
  heat: Heat;
  seen: Window;
  zoom: (window: Window) => void;
  reset: () => void;
  /** A row that the list of keys points at. */
  marked: number | null;
  /** What the figures count. */
  unit: string;
  open: (key: string) => void;
}

const time = (ms: number, long: boolean) =>
  new Date(ms).toLocaleString(
    "en-GB",
    long
      ? { weekday: "short", hour: "2-digit", minute: "2-digit" }
      : { hour: "2-digit", minute: "2-digit", second: "2-digit" },
  );

function Tooltip(props: { heat: Heat; cell: Cell; x: number; y: number; unit: string }) {
  const { heat, cell, x, y, unit } = props;
  const known = described(heat, cell);
  const long = heat.step * heat.columns > 6 * 3600_000;
  return (
    <div class="tooltip" style={{ left: `${x}px`, top: `${y}px` }}>
      <div class="strong">
        {time(known.from, long)} – {time(known.to, long)}
      </div>
      <div>
        <span class="figure">{brief(known.units)}</span> {unit}
        {known.partition >= 0 && <span class="note"> · partition {known.partition + 1}</span>}
      </div>
      {known.key && (
        <div class="key">
          {visible(known.key.slice(0, 120))}
          {known.keyUnits != null && (
            <span class="note">
              {" "}
              {brief(known.keyUnits)} {unit}
            </span>
          )}
        </div>
      )}
      {(known.entity || known.pattern) && (
        <div class="note">
          {known.entity}
          {known.entity && known.pattern && " · "}
          {known.pattern}
        </div>
      )}
    </div>
  );
}

function Times({ heat, seen }: { heat: Heat; seen: Window }) {
  const many = 6;
  const long = heat.step * (seen.right - seen.left) > 20 * 3600_000;
  const marks = Array.from({ length: many + 1 }, (_, n) => seen.left + ((seen.right - seen.left) * n) / many);
  return (
    <div class="times" aria-hidden="true">
      {marks.map((column, n) => (
        <span key={n}>{time(heat.start + column * heat.step, long)}</span>
      ))}
    </div>
  );
}

function Partitions({ heat, seen }: { heat: Heat; seen: Window }) {
  const place = (part: number) => ((part * heat.rows - seen.top) / (seen.bottom - seen.top)) * 100;
  return (
    <div class="partitions" aria-hidden="true">
      {heat.partitions.map((partition, n) => {
        const top = Math.max(0, place(partition.from));
        const bottom = Math.min(100, place(partition.to));
        if (bottom <= 0 || top >= 100) return null;
        return (
          <div key={n} style={{ top: `${top}%`, height: `${bottom - top}%` }}>
            {bottom - top > 4 && <span>P{n + 1}</span>}
          </div>
        );
      })}
    </div>
  );
}

export function HeatCanvas(props: Props) {
  const { heat, seen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [at, setAt] = useState<{ cell: Cell; x: number; y: number } | null>(null);
  const [drag, setDrag] = useState<{ from: Cell; to: Cell } | null>(null);
  const isDark = dark.value;
  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !size.width) return;
    element.width = Math.round(size.width * devicePixelRatio);
    element.height = Math.round(size.height * devicePixelRatio);
    draw(element, heat, seen, isDark);
  }, [heat, seen.left, seen.right, seen.top, seen.bottom, isDark, size]);

  const columns = seen.right - seen.left;
  const rows = seen.bottom - seen.top;
  const cellAt = (event: PointerEvent): { cell: Cell; x: number; y: number } => {
    const box = canvas.current!.getBoundingClientRect();
    const x = Math.max(0, Math.min(box.width - 1, event.clientX - box.left));
    const y = Math.max(0, Math.min(box.height - 1, event.clientY - box.top));
    const cell = {
      column: seen.left + Math.floor((x / box.width) * columns),
      row: seen.top + Math.floor((y / box.height) * rows),
    };
    return { cell, x: Math.min(x + 14, box.width - 270), y: Math.min(y + 14, box.height - 96) };
  };
  const zoomTo = (from: Cell, to: Cell) =>
    props.zoom({
      left: Math.min(from.column, to.column),
      right: Math.max(from.column, to.column) + 1,
      top: Math.min(from.row, to.row),
      bottom: Math.max(from.row, to.row) + 1,
    });
  const keys = (event: KeyboardEvent) => {
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const move = moves[event.key];
    const cell = at?.cell ?? { column: seen.right - 1, row: seen.top };
    if (move) {
      const next = {
        column: Math.max(seen.left, Math.min(seen.right - 1, cell.column + move[0])),
        row: Math.max(seen.top, Math.min(seen.bottom - 1, cell.row + move[1])),
      };
      const x = ((next.column - seen.left + 1) / columns) * size.width;
      const y = ((next.row - seen.top + 1) / rows) * size.height;
      setAt({ cell: next, x: Math.min(x, size.width - 270), y: Math.min(y, size.height - 96) });
    } else if (event.key === "+" || event.key === "=") {
      const half = { column: Math.ceil(columns / 4), row: Math.ceil(rows / 4) };
      const from = {
        column: Math.max(seen.left, cell.column - half.column),
        row: Math.max(seen.top, cell.row - half.row),
      };
      const to = {
        column: Math.min(seen.right - 1, cell.column + half.column),
        row: Math.min(seen.bottom - 1, cell.row + half.row),
      };
      zoomTo(from, to);
    } else if (event.key === "-" || event.key === "Escape") props.reset();
    else if (event.key === "Enter") {
      const key = described(heat, cell).key;
      if (key) props.open(key);
    } else return;
    event.preventDefault();
  };
  const box = (from: Cell, to: Cell) => ({
    left: `${((Math.min(from.column, to.column) - seen.left) / columns) * 100}%`,
    width: `${((Math.abs(from.column - to.column) + 1) / columns) * 100}%`,
    top: `${((Math.min(from.row, to.row) - seen.top) / rows) * 100}%`,
    height: `${((Math.abs(from.row - to.row) + 1) / rows) * 100}%`,
  });
  const said = at ? described(heat, at.cell) : null;
  return (
    <div class="map">
      <div class="plane">
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-roledescription="heat map"
          aria-label={`Heat of ${heat.table}${heat.index ? ` ${heat.index}` : ""}: time to the right, key space down. Arrow keys move, Enter opens the key, + and − zoom.`}
          onPointerMove={(event) => {
            const now = cellAt(event);
            setAt(now);
            if (drag) setDrag({ from: drag.from, to: now.cell });
          }}
          onPointerLeave={() => !drag && setAt(null)}
          onPointerDown={(event) => {
            (event.target as HTMLElement).setPointerCapture(event.pointerId);
            const { cell } = cellAt(event);
            setDrag({ from: cell, to: cell });
          }}
          onPointerUp={() => {
            if (
              drag &&
              Math.abs(drag.from.column - drag.to.column) + Math.abs(drag.from.row - drag.to.row) > 1
            )
              zoomTo(drag.from, drag.to);
            setDrag(null);
          }}
          onDblClick={props.reset}
          onBlur={() => setAt(null)}
          onKeyDown={keys}
        />
        <Partitions heat={heat} seen={seen} />
        {props.marked !== null && props.marked >= seen.top && props.marked < seen.bottom && (
          <div class="marked" style={{ top: `${((props.marked - seen.top + 0.5) / rows) * 100}%` }} />
        )}
        {at && !drag && <div class="cursor" style={box(at.cell, at.cell)} />}
        {drag && <div class="dragged" style={box(drag.from, drag.to)} />}
        {at && !drag && <Tooltip heat={heat} cell={at.cell} x={at.x} y={at.y} unit={props.unit} />}
      </div>
      <Times heat={heat} seen={seen} />
      <div class="hidden" aria-live="polite">
        {said &&
          `${time(said.from, true)}: ${brief(said.units)} ${props.unit}${said.key ? `, ${visible(said.key)}` : ""}`}
      </div>
    </div>
  );
}

// The map itself: cells to colours. Time runs to the right, key space (by hash, as partitions divide it) runs down.
import type { Heat } from "../../server/api";

/** The part of the map that is in sight: columns and rows, the ends excluded. */
export interface Window {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Cell {
  column: number;
  row: number;
}

type Rgb = [number, number, number];

// Dark to bright on dark pages, bright to dark on light ones, so that nothing happening is the page's own colour.
const DARK: Rgb[] = [
  [18, 23, 30],
  [31, 41, 84],
  [96, 34, 121],
  [181, 48, 92],
  [240, 105, 52],
  [252, 183, 60],
  [252, 250, 190],
];
const LIGHT: Rgb[] = [
  [255, 255, 255],
  [228, 233, 246],
  [178, 196, 232],
  [150, 140, 214],
  [190, 82, 160],
  [214, 46, 78],
  [120, 12, 30],
];

function scaleColour(stops: Rgb[], share: number): Rgb {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const a = stops[low] as Rgb;
  const b = stops[low + 1] as Rgb;
  const part = at - low;
  return [0, 1, 2].map((n) => Math.round((a[n] ?? 0) + ((b[n] ?? 0) - (a[n] ?? 0)) * part)) as Rgb;
}

/** The greatest value in sight. */
export function peak(heat: Heat, seen: Window): number {
  let most = 0;
  for (let t = seen.left; t < seen.right; t++) {
    const column = heat.cells[t];
    for (let r = seen.top; column && r < seen.bottom; r++) most = Math.max(most, column[r] ?? 0);
  }
  return most;
}

/** Loads differ by orders of magnitude: the scale is logarithmic. */
export const share = (units: number, most: number) =>
  units <= 0 ? 0 : Math.log1p(units) / Math.log1p(Math.max(most, 1));

export function colourOf(units: number, most: number, dark: boolean): string {
  return `rgb(${scaleColour(dark ? DARK : LIGHT, share(units, most)).join(" ")})`;
}

/** Draws the cells in sight over the whole canvas. */
export function draw(canvas: HTMLCanvasElement, heat: Heat, seen: Window, dark: boolean): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const columns = Math.max(1, seen.right - seen.left);
  const rows = Math.max(1, seen.bottom - seen.top);
  const image = new ImageData(columns, rows);
  const most = peak(heat, seen);
  const stops = dark ? DARK : LIGHT;
  for (let t = 0; t < columns; t++) {
    const column = heat.cells[seen.left + t];
    for (let r = 0; r < rows; r++) {
      const [red, green, blue] = scaleColour(stops, share(column?.[seen.top + r] ?? 0, most));
      image.data.set([red, green, blue, 255], (r * columns + t) * 4);
    }
  }
  const small = document.createElement("canvas");
  small.width = columns;
  small.height = rows;
  small.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
}

/** What is known of a cell: its units, its key if one stands out, its partition. */
export function described(heat: Heat, cell: Cell) {
  const units = heat.cells[cell.column]?.[cell.row] ?? 0;
  const hot = heat.hot.find((one) => one.column === cell.column && one.row === cell.row);
  const known = heat.keys.find((one) => one.row === cell.row);
  const middle = (cell.row + 0.5) / heat.rows;
  const partition = heat.partitions.findIndex((one) => middle >= one.from && middle < one.to);
  const key = hot?.key ?? known?.key ?? null;
  return {
    units,
    key,
    entity: hot?.entity ?? known?.entity ?? null,
    pattern: hot?.pattern ?? known?.pattern ?? null,
    keyUnits: hot?.units ?? null,
    partition,
    from: heat.start + cell.column * heat.step,
    to: heat.start + (cell.column + 1) * heat.step,
  };
}

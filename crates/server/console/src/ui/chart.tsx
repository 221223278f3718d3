// Lines over time.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "preact/hooks";
import { dark } from "./theme";
import { brief } from "./parts";

export interface Line {
  label: string;
  /** The name of a colour of the style sheet. */
  colour: string;
  values: (number | null)[];
}

interface Props {
  label: string;
  /** Seconds since 1970. */
  times: number[];
  lines: Line[];
  height: number;
}

const clock = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Chart(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const isDark = dark.value;
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
    };
    const made = new uPlot(
      {
        width: element.clientWidth || 300,
        height: props.height,
        legend: { show: true, live: true },
        cursor: { y: false, points: { size: 6 } },
        padding: [8, 30, 0, 0],
        axes: [
          { ...axis, space: 90, values: (_, marks) => marks.map(clock) },
          { ...axis, size: 48, values: (_, marks) => marks.map(brief) },
        ],
        scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
        series: [
          { value: (_: uPlot, at: number | null) => (at === null ? "–" : clock(at)) },
          ...props.lines.map((line) => ({
            label: line.label,
            stroke: colour(line.colour),
            width: 1.5,
            fill: `${colour(line.colour)}18`,
            points: { show: false },
            value: (_: uPlot, value: number | null) => (value === null ? "–" : brief(value)),
          })),
        ],
      },
      [props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: props.height }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [isDark, props.height, props.lines.length]);
  useEffect(() => {
    plot.current?.setData([props.times, ...props.lines.map((line) => line.values)] as uPlot.AlignedData);
  }, [props.times, props.lines]);
  const last = props.lines.map((line) => `${line.label} ${brief(line.values.at(-1) ?? 0)}`).join(", ");
  return <div class="chart" ref={host} role="img" aria-label={`${props.label}: now ${last}`} />;
}

// Icons as elements, drawn with the colour of the text around them.
import type { JSX } from "preact";

const PATHS = {
  overview: "M3 12h7V3H3zM14 21h7v-9h-7zM14 3v5h7V3zM3 21h7v-5H3z",
  heat: "M3 3h5v5H3zM10 3h4v5h-4zM16 3h5v5h-5zM3 10h5v4H3zM10 10h4v4h-4zM16 10h5v4h-5zM3 16h5v5H3zM10 16h4v5h-4zM16 16h5v5h-5z",
  data: "M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zM4 6v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  design: "M12 3v6M5 15v-3h14v3M12 9v3M2 15h6v6H2zM16 15h6v6h-6zM9 3h6v6H9z",
  doctor: "M3 12h4l3-8 4 16 3-8h4",
  simulate: "M3 20h18M5 16l5-6 4 3 6-9",
  migrate: "M4 7h13M13 3l4 4-4 4M20 17H7M11 13l-4 4 4 4",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 21 21",
  moon: "M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z",
  sun: "M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM12 1v3M12 20v3M1 12h3M20 12h3M4 4l2 2M18 18l2 2M4 20l2-2M18 6l2-2",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  close: "M5 5l14 14M19 5 5 19",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  first: "M18 5l-7 7 7 7M7 5v14",
  plus: "M12 4v16M4 12h16",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6",
  download: "M12 3v12M7 10l5 5 5-5M4 20h16",
  upload: "M12 16V4M7 9l5-5 5 5M4 20h16",
  refresh: "M20 11a8 8 0 1 0-2.3 6.7M20 4v7h-7",
  play: "M7 4l13 8-13 8z",
  pause: "M8 4v16M16 4v16",
  menu: "M3 6h18M3 12h18M3 18h18",
  link: "M9 15l6-6M10 6l2-2a4.2 4.2 0 0 1 6 6l-2 2M14 18l-2 2a4.2 4.2 0 0 1-6-6l2-2",
  lock: "M6 11h12v10H6zM8.5 11V7a3.5 3.5 0 0 1 7 0v4",
  check: "M4 12.5l5 5L20 6.5",
  warn: "M12 3 1.8 21h20.4zM12 10v5M12 18v.5",
  copy: "M8 8h12v13H8zM16 8V3H4v13h4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      class="icon"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

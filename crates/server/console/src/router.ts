// Addresses: everything that a view shows is in the fragment (`#/data/tasks?index=GSI1&pk=…`), so that any address can
// be shared and the browser's own buttons work.
import { signal } from "@preact/signals";

export interface Route {
  /** The parts of the path, decoded. */
  path: string[];
  query: URLSearchParams;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function parse(fragment: string): Route {
  const text = fragment.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const path = at < 0 ? text : text.slice(0, at);
  return {
    path: path.split("/").filter(Boolean).map(decode),
    query: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)),
  };
}

export const route = signal<Route>(parse(location.hash));
addEventListener("hashchange", () => (route.value = parse(location.hash)));

export type Query = Record<string, string | undefined | null>;

/** The address of a view; parameters without a value are left out. */
export function href(path: string[], query: Query = {}): string {
  const present = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const search = new URLSearchParams(present).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

export function go(path: string[], query: Query = {}): void {
  location.hash = href(path, query);
}

/** Changes some parameters of the present address; with `replace`, without a step in the history. */
export function amend(query: Query, replace = false): void {
  const now: Query = { ...Object.fromEntries(route.value.query), ...query };
  const next = href(route.value.path, now);
  if (replace) {
    history.replaceState(null, "", next);
    route.value = parse(next);
  } else {
    location.hash = next;
  }
}

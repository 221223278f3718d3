// Recordings of `keyloom doctor --save`, opened in the page: they contain the heat of each place.
import { signal } from "@preact/signals";
import type { Heat, Measure } from "../../server/api";

interface Recorded extends Omit<Heat, "cells"> {
  cells?: number[][];
  reads?: number[][];
  writes?: number[][];
  refused?: number[][];
}

export interface Recording {
  name: string;
  places: Recorded[];
}

export const recording = signal<Recording | null>(null);

export async function openRecording(file: File): Promise<void> {
  let report: { heat?: unknown; report?: { heat?: unknown } };
  try {
    report = JSON.parse(await file.text()) as typeof report;
  } catch {
    throw new Error(`${file.name} is not a recording: it is not JSON.`);
  }
  const heat = report.heat ?? report.report?.heat;
  const places = (Array.isArray(heat) ? heat : []) as Recorded[];
  if (
    !places.length ||
    places.some((place) => typeof place.columns !== "number" || typeof place.table !== "string")
  ) {
    throw new Error(
      `${file.name} contains no heat. Recordings of keyloom doctor --save contain it since this version.`,
    );
  }
  recording.value = { name: file.name, places };
}

/** One place of a recording, as the server would tell it. */
export function recordedHeat(of: Recording, table: string, index: string | null, what: Measure): Heat | null {
  const place = of.places.find((one) => one.table === table && (one.index ?? null) === index) ?? of.places[0];
  if (!place) return null;
  return {
    ...place,
    cells: place[what] ?? place.cells ?? [],
    keys: place.keys ?? [],
    partitions: place.partitions ?? [],
    hot: place.hot ?? [],
  };
}

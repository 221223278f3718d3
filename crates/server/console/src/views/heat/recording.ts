// Recordings of `keyloom doctor --save`: the page keeps the text, the server reads it.
import { signal } from "@preact/signals";
import { recordedPlaces } from "../../server/api";

export interface Recording {
  name: string;
  text: string;
  places: { table: string; index: string | null; from: number; to: number }[];
}

export const recording = signal<Recording | null>(null);

export async function openRecording(file: File): Promise<void> {
  const text = await file.text();
  const { places } = await recordedPlaces(text);
  if (!places?.length) throw new Error(`${file.name} is a recording without heat.`);
  recording.value = { name: file.name, text, places };
}

// Light or dark: as the system says, unless it was chosen here.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEPT = "keyloom-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", (event) => (systemDark.value = event.matches));

function kept(): Theme {
  const value = localStorage.getItem(KEPT);
  return value === "light" || value === "dark" ? value : "auto";
}

export const theme = signal<Theme>(kept());
export const dark = computed(() => theme.value === "dark" || (theme.value === "auto" && systemDark.value));

effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
  if (theme.value === "auto") localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, theme.value);
});

export function cycleTheme(): void {
  const next: Record<Theme, Theme> = { auto: dark.value ? "light" : "dark", light: "dark", dark: "light" };
  theme.value = next[theme.value];
}

/** The theme setting: light, dark or that of the system. Saved in the browser. */
import { readSetting, writeSetting } from "./local-storage";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "superstep.theme";

export function getTheme(): Theme {
  const stored = readSetting(KEY);
  return THEMES.find((name) => name === stored) ?? "system";
}

export function setTheme(name: Theme): void {
  writeSetting(KEY, name);
  document.documentElement.dataset.theme = name;
}

setTheme(getTheme());

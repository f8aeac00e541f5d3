/** Light, dark, or what the system says; remembered in this browser. */

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "superstep.theme";

export function theme(): Theme {
  const stored = remembered(KEY);
  return THEMES.find((name) => name === stored) ?? "system";
}

export function setTheme(name: Theme): void {
  remember(KEY, name);
  document.documentElement.dataset.theme = name;
}

/** A browser may forbid storing; the page works without. */
export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Then it holds until the page is left.
  }
}

setTheme(theme());

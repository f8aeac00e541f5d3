/** Settings in local storage. A browser may forbid storage; the pages work without it. */

export function readSetting(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeSetting(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The value lasts until the page is left.
  }
}

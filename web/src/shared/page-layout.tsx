/** Layout of every page: header, theme toggle, keyboard shortcuts. */
import { type ReactNode, useState } from "react";
import { KeyboardShortcuts, type ShortcutList } from "./keyboard-shortcuts";
import { text } from "./strings";
import { getTheme, setTheme, type Theme, THEMES } from "./theme";

export function PageLayout({ nav, shortcuts, children }: { nav?: ReactNode; shortcuts?: ShortcutList; children: ReactNode }) {
  return (
    <>
      <a class="skip-link" href="#content">{text.skip}</a>
      <header class="page-header">
        <a class="brand" href="/">{text.brand}</a>
        <nav>{nav}</nav>
        <ThemeToggle />
        <KeyboardShortcuts shortcuts={shortcuts} />
      </header>
      {children}
    </>
  );
}

const ICONS: Record<Theme, string> = {
  system: "M10 2.5a7.5 7.5 0 1 0 0 15a7.5 7.5 0 1 0 0-15zM10 4.2V15.8A5.8 5.8 0 0 1 10 4.2z",
  light: "M10 6a4 4 0 1 0 0 8a4 4 0 1 0 0-8zM9.2 1H10.8V4H9.2zM9.2 16H10.8V19H9.2zM1 9.2H4V10.8H1zM16 9.2H19V10.8H16z",
  dark: "M8.2 2.2A8 8 0 1 0 17.8 11.8A6.6 6.6 0 0 1 8.2 2.2z",
};

/** Button that cycles through system, light and dark. */
function ThemeToggle() {
  const [current, setCurrent] = useState<Theme>(getTheme());
  const label = `${text.theme.label}: ${text.theme[current]}`;
  const next = () => {
    const name = THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]!;
    setTheme(name);
    setCurrent(name);
  };
  return (
    <button type="button" class="quiet square theme-toggle" onClick={next} aria-label={label} title={label}>
      <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path fill="currentColor" fill-rule="evenodd" d={ICONS[current]} /></svg>
    </button>
  );
}

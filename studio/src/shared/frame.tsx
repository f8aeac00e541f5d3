/** What stands around every page: the name, the colours, the keys. */
import { useState, type ReactNode } from "react";
import { Keys, type KeyList } from "./keys";
import { text } from "./strings";
import { setTheme, theme, THEMES, type Theme } from "./theme";

export function Frame({ here, keys, children }: { here?: ReactNode; keys?: KeyList; children: ReactNode }) {
  return (
    <>
      <a class="skip" href="#content">{text.skip}</a>
      <header class="top">
        <a class="brand" href="/">{text.brand}</a>
        <nav>{here}</nav>
        <Colours />
        <Keys more={keys} />
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

/** One button that goes round: system, light, dark. */
function Colours() {
  const [chosen, setChosen] = useState<Theme>(theme());
  const label = `${text.theme.label}: ${text.theme[chosen]}`;
  const next = () => {
    const name = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length]!;
    setTheme(name);
    setChosen(name);
  };
  return (
    <button type="button" class="quiet square colours" onClick={next} aria-label={label} title={label}>
      <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path fill="currentColor" fill-rule="evenodd" d={ICONS[chosen]} /></svg>
    </button>
  );
}

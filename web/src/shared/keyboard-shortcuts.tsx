/** Single-key shortcuts and their help dialog. They can be disabled, because assistive tools may type letters. */
import { useEffect, useRef, useState } from "react";
import { text } from "./strings";
import { readSetting, writeSetting } from "./local-storage";

/** Pairs of key and description. */
export type ShortcutList = [string, string][];

const KEY = "superstep.keys";

/** Registers shortcuts while the component is mounted. Always calls the latest handlers. */
export function useKeyboardShortcuts(handlers: Record<string, (() => void) | undefined>): void {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => {
    const handleKey = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || readSetting(KEY) === "off") return;
      if (target instanceof Element && target.closest("input, textarea, select, dialog")) return;
      const handler = latest.current[key];
      if (!handler) return;
      event.preventDefault();
      handler();
    };
    document.addEventListener("keydown", handleKey);
    return () => document.removeEventListener("keydown", handleKey);
  }, []);
}

export function KeyboardShortcuts({ shortcuts = [] }: { shortcuts?: ShortcutList }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isEnabled, setEnabled] = useState(readSetting(KEY) !== "off");
  const open = () => dialog.current?.showModal();
  useKeyboardShortcuts({ "?": open });
  const toggle = () => {
    writeSetting(KEY, isEnabled ? "off" : "on");
    setEnabled(!isEnabled);
  };
  return (
    <>
      <button type="button" class="quiet square" onClick={open} aria-label={text.shortcutDialog.open} title={text.shortcutDialog.open}>
        ?
      </button>
      <dialog ref={dialog} class="shortcuts-dialog" aria-labelledby="keys-title">
        <h2 id="keys-title">{text.shortcutDialog.title}</h2>
        <dl>
          {[...text.shortcutDialog.list, ...shortcuts].map(([key, description]) => (
            <div key={key}>
              <dt><kbd>{key}</kbd></dt>
              <dd>{description}</dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input type="checkbox" checked={isEnabled} onChange={toggle} /> {text.shortcutDialog.enable}
        </label>
        <button type="button" onClick={() => dialog.current?.close()}>{text.shortcutDialog.close}</button>
      </dialog>
    </>
  );
}

/** Single keys, and the list of them; they can be turned off for those whose tools type letters. */
import { useEffect, useRef, useState } from "react";
import { text } from "./strings";
import { remember, remembered } from "./theme";

/** A key and what it does. */
export type KeyList = [string, string][];

const KEY = "superstep.keys";

/** Tells which keys do what while the component stands; the latest meaning counts. */
export function useKeys(meanings: Record<string, (() => void) | undefined>): void {
  const latest = useRef(meanings);
  latest.current = meanings;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || remembered(KEY) === "off") return;
      if (target instanceof Element && target.closest("input, textarea, select, dialog")) return;
      const act = latest.current[key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

export function Keys({ more = [] }: { more?: KeyList }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOn, setOn] = useState(remembered(KEY) !== "off");
  const open = () => dialog.current?.showModal();
  useKeys({ "?": open });
  const toggle = () => {
    remember(KEY, isOn ? "off" : "on");
    setOn(!isOn);
  };
  return (
    <>
      <button type="button" class="quiet square" onClick={open} aria-label={text.keys.open} title={text.keys.open}>
        ?
      </button>
      <dialog ref={dialog} class="keys" aria-labelledby="keys-title">
        <h2 id="keys-title">{text.keys.title}</h2>
        <dl>
          {[...text.keys.list, ...more].map(([key, meaning]) => (
            <div key={key}>
              <dt><kbd>{key}</kbd></dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input type="checkbox" checked={isOn} onChange={toggle} /> {text.keys.isOn}
        </label>
        <button type="button" onClick={() => dialog.current?.close()}>{text.keys.close}</button>
      </dialog>
    </>
  );
}

/** Buttons that copy Markdown, copy the link and print. */
import { type ReactNode, useEffect, useState } from "react";
import { copyToClipboard } from "./clipboard";
import { useKeyboardShortcuts } from "./keyboard-shortcuts";
import { text } from "./strings";

interface Props {
  /** Creates or loads the Markdown on demand. */
  markdown(): string | Promise<string>;
  /** Path of the page. */
  path: string;
  children?: ReactNode;
}

export function ShareActions({ markdown, path, children }: Props) {
  const [notice, setNotice] = useState("");
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(() => setNotice(""), 2_500);
    return () => clearTimeout(timer);
  }, [notice]);
  const copy = async (content: string | Promise<string>) => {
    const isCopied = await Promise.resolve(content).then(copyToClipboard, () => false);
    setNotice(isCopied ? text.share.copied : text.share.copyFailed);
  };
  const copyText = () => void copy(markdown());
  const copyLink = () => void copy(location.origin + path);
  useKeyboardShortcuts({ c: copyText, y: copyLink });
  return (
    <section class="share-actions" aria-label={text.share.title}>
      <button type="button" onClick={copyText}>{text.share.copy}</button>
      <button type="button" onClick={copyLink}>{text.share.link}</button>
      <button type="button" onClick={() => print()}>{text.share.print}</button>
      {children}
      <span class="notice" role="status">{notice}</span>
    </section>
  );
}

/** Copy as Markdown, copy the link, print. */
import { useEffect, useState, type ReactNode } from "react";
import { copy } from "./copy";
import { useKeys } from "./keys";
import { text } from "./strings";

interface Props {
  /** The whole as Markdown, made or asked for when it is wanted. */
  markdown(): string | Promise<string>;
  /** Where it can be read again. */
  address: string;
  children?: ReactNode;
}

export function KeepRow({ markdown, address, children }: Props) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 2_500);
    return () => clearTimeout(timer);
  }, [said]);
  const put = async (content: string | Promise<string>) => {
    const isDone = await Promise.resolve(content).then(copy, () => false);
    setSaid(isDone ? text.keep.copied : text.keep.notCopied);
  };
  const copyText = () => void put(markdown());
  const copyLink = () => void put(location.origin + address);
  useKeys({ c: copyText, y: copyLink });
  return (
    <section class="keep" aria-label={text.keep.title}>
      <button type="button" onClick={copyText}>{text.keep.copy}</button>
      <button type="button" onClick={copyLink}>{text.keep.link}</button>
      <button type="button" onClick={() => print()}>{text.keep.print}</button>
      {children}
      <span class="said-so" role="status">{said}</span>
    </section>
  );
}

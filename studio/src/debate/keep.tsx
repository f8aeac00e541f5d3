/** Copy, download, share. */
import { useEffect, useState } from "react";
import { ask } from "../shared/api";
import { copy } from "../shared/copy";
import { useKeys } from "../shared/keys";
import { text } from "../shared/strings";

const FORMATS = ["md", "json", "txt"] as const;

export function Keep({ id }: { id: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 2_500);
    return () => clearTimeout(timer);
  }, [said]);
  const transcript = (format: string) => `/api/debate/${encodeURIComponent(id)}/transcript?format=${format}`;
  const put = async (content: Promise<string>) => {
    const isDone = await content.then(copy, () => false);
    setSaid(isDone ? text.keep.copied : text.keep.notCopied);
  };
  const copyText = () => void put(ask(transcript("md")).then((response) => response.text()));
  const copyLink = () => void put(Promise.resolve(`${location.origin}/debate/${encodeURIComponent(id)}`));
  useKeys({ c: copyText, y: copyLink });
  return (
    <section class="keep" aria-label={text.keep.title}>
      <button type="button" onClick={copyText}>{text.keep.copy}</button>
      <button type="button" onClick={copyLink}>{text.keep.link}</button>
      <span class="downloads">
        {text.keep.download}: {FORMATS.map((format) => (
          <a key={format} href={transcript(format)} download={`debate-${id}.${format}`}>{text.keep.formats[format]}</a>
        ))}
      </span>
      <span class="said-so" role="status">{said}</span>
    </section>
  );
}

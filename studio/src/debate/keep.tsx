/** Copy, download, share. */
import { ask } from "../shared/api";
import { KeepRow } from "../shared/keep";
import { text } from "./strings";

const FORMATS = ["md", "json", "txt"] as const;

export function Keep({ id }: { id: string }) {
  const name = encodeURIComponent(id);
  const transcript = (format: string) => `/api/debate/${name}/transcript?format=${format}`;
  return (
    <KeepRow markdown={async () => (await ask(transcript("md"))).text()} address={`/debate/${name}`}>
      <span class="downloads">
        {text.keep.download}: {FORMATS.map((format) => (
          <a key={format} href={transcript(format)} download={`debate-${id}.${format}`}>{text.keep.formats[format]}</a>
        ))}
      </span>
    </KeepRow>
  );
}

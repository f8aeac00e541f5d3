/** Buttons that copy, download and share the transcript. */
import { request } from "../shared/api";
import { ShareActions } from "../shared/share-actions";
import { text } from "./strings";

const FORMATS = ["md", "json", "txt"] as const;

export function TranscriptActions({ id }: { id: string }) {
  const name = encodeURIComponent(id);
  const transcript = (format: string) => `/api/debate/${name}/transcript?format=${format}`;
  return (
    <ShareActions markdown={async () => (await request(transcript("md"))).text()} path={`/debate/${name}`}>
      <span class="downloads">
        {text.share.download}: {FORMATS.map((format) => (
          <a key={format} href={transcript(format)} download={`debate-${id}.${format}`}>{text.share.formats[format]}</a>
        ))}
      </span>
    </ShareActions>
  );
}

/** Links from untrusted text. */
import type { ReactNode } from "react";

/**
 * Returns the URL if it is safe: `http`, `https`, or a path of this server. A bare file name names a document, but is not a URL
 * of this server.
 */
export function safeLink(url: string | null | undefined): string | undefined {
  const address = url?.trim() ?? "";
  // Browsers drop control characters and treat a backslash as a slash (`java\nscript:`, `/\host`).
  if (address === "" || /[\u0000-\u0020\u007f\\]/.test(address)) return undefined;
  if (/^\/(?!\/)/.test(address)) return address;
  if (!/^https?:\/\//i.test(address)) return undefined;
  try {
    const { host, username, password } = new URL(address);
    return host !== "" && username === "" && password === "" ? address : undefined;
  } catch {
    return undefined;
  }
}

/** Renders a link, or only its content if the URL is not safe. */
export function SafeLink({ url, children }: { url: string | null | undefined; children: ReactNode }) {
  const address = safeLink(url);
  if (address === undefined) return <>{children}</>;
  return <a href={address} target="_blank" rel="noopener noreferrer">{children}</a>;
}

/** Links that others wrote: only where they can do no harm and lead somewhere. */
import type { ReactNode } from "react";

/**
 * The address when it may be followed: `http`, `https`, or a path of this server. Anything else is nothing a page may lead to;
 * a bare file name says where a document lies, but is no address on this server.
 */
export function safeLink(url: string | null | undefined): string | undefined {
  const address = url?.trim() ?? "";
  // A browser drops control characters and takes a backslash for a slash, so `java\nscript:` and `/\host` would be something else.
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

/** What cannot be followed is shown as it is. */
export function SafeLink({ url, children }: { url: string | null | undefined; children: ReactNode }) {
  const address = safeLink(url);
  if (address === undefined) return <>{children}</>;
  return <a href={address} target="_blank" rel="noopener noreferrer">{children}</a>;
}

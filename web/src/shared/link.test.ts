import { expect, it } from "vitest";
import { safeLink } from "./link";

it("accepts http, https and local paths", () => {
  for (const url of ["https://example.org/a?b#c", "http://example.org", "HTTPS://EXAMPLE.ORG/", "/docs/aks.md#undo", "/suggestions/p1"]) {
    expect(safeLink(url)).toBe(url);
  }
  expect(safeLink(" https://example.org/ ")).toBe("https://example.org/");
});

it("rejects scripts, hidden hosts and invalid URLs", () => {
  const bad = [
    "", " ", null, undefined, "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "\u0001javascript:alert(1)", "data:text/html,x",
    "vbscript:x", "file:///etc/passwd", "blob:https://example.org/1", "//example.org", "/\\example.org", "https:\\\\example.org", "https://",
    "https://bank.example@evil.example/", "https://exa mple.org", "aks/rollback.md#undo", "mailto:a@b.example", "ftp://example.org",
  ];
  for (const url of bad) expect(safeLink(url), String(url)).toBeUndefined();
});

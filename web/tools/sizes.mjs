/** Prints the compressed size of each page. Fails if one exceeds its budget. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const PAGE = 100_000;
const RUNTIME = 60_000;

const size = (file) => gzipSync(readFileSync(new URL(`../dist/${file}`, import.meta.url)), { level: 9 }).length;
let isOver = false;
const report = (name, bytes, budget) => {
  isOver ||= bytes > budget;
  console.log(`${name}: ${bytes} B gzip (at most ${budget})`);
};

for (const page of ["index.html", "debate.html", "suggestions.html", "assistant.html", "scheduler.html"]) {
  const html = readFileSync(new URL(`../dist/${page}`, import.meta.url), "utf8");
  const assets = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((match) => match[1]);
  report(page, [page, ...assets].map(size).reduce((sum, bytes) => sum + bytes), PAGE);
}
for (const file of readdirSync(new URL("../dist/assets", import.meta.url)).filter((name) => name.startsWith("runtime"))) {
  report(`assets/${file}`, size(`assets/${file}`), RUNTIME);
}
process.exitCode = isOver ? 1 : 0;

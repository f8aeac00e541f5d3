/**
 * Markdown as answers use it, read into a tree: paragraphs, headings, lists, tables, quotes, code; strong, emphasis, links and
 * references such as `[1]`. Markup of any other kind stays text. Half of a text is a text too: it is read while it grows.
 */

export type Inline =
  | { is: "text" | "code"; text: string }
  | { is: "strong" | "em"; inline: Inline[] }
  | { is: "link"; url: string; inline: Inline[] }
  | { is: "reference"; number: number };

export type Align = "start" | "center" | "end";

export type Block =
  | { is: "paragraph"; inline: Inline[] }
  | { is: "heading"; level: number; inline: Inline[] }
  | { is: "list"; isOrdered: boolean; from: number; items: Item[] }
  | { is: "code"; text: string }
  | { is: "quote"; blocks: Block[] }
  | { is: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { is: "rule" };

export interface Item {
  inline: Inline[];
  blocks: Block[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const DELIMITER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
/** Nobody nests deeper on purpose. */
const DEEPEST = 6;

export function blocks(text: string, depth = 0): Block[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const found: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      at++;
      continue;
    }
    const [block, next] = (depth < DEEPEST ? special(lines, at, depth) : undefined) ?? paragraph(lines, at, depth);
    found.push(block);
    at = next;
  }
  return found;
}

type Read = [Block, number];

function special(lines: string[], at: number, depth: number): Read | undefined {
  const line = lines[at] ?? "";
  const heading = HEADING.exec(line);
  if (heading) return [{ is: "heading", level: heading[1]!.length, inline: inline(heading[2]!) }, at + 1];
  if (FENCE.test(line)) return code(lines, at);
  if (RULE.test(line)) return [{ is: "rule" }, at + 1];
  if (QUOTE.test(line)) return quote(lines, at, depth);
  if (ITEM.test(line)) return list(lines, at, depth);
  return line.includes("|") && isDelimiter(lines[at + 1], line) ? table(lines, at) : undefined;
}

function paragraph(lines: string[], at: number, depth: number): Read {
  let end = at + 1;
  while (end < lines.length && lines[end]!.trim() !== "" && !(depth < DEEPEST && special(lines, end, depth))) end++;
  return [{ is: "paragraph", inline: inline(lines.slice(at, end).map((line) => line.trim()).join("\n")) }, end];
}

function code(lines: string[], at: number): Read {
  const fence = FENCE.exec(lines[at]!)![1]!;
  let end = at + 1;
  while (end < lines.length && !lines[end]!.trim().startsWith(fence)) end++;
  return [{ is: "code", text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function quote(lines: string[], at: number, depth: number): Read {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end]!)) end++;
  return [{ is: "quote", blocks: blocks(lines.slice(at, end).map((line) => line.replace(QUOTE, "")).join("\n"), depth + 1) }, end];
}

function list(lines: string[], at: number, depth: number): Read {
  const isOrdered = /\d/.test(ITEM.exec(lines[at]!)![2]!);
  const from = isOrdered ? Number.parseInt(lines[at]!.trim(), 10) : 1;
  const items: Item[] = [];
  let end = at;
  for (;;) {
    const match = end < lines.length ? ITEM.exec(lines[end]!) : null;
    if (!match || /\d/.test(match[2]!) !== isOrdered) break;
    const inner: string[] = [];
    end++;
    // What is indented belongs to the item, also after an empty line.
    while (end < lines.length && (/^(\s{2,}|\t)\S/.test(lines[end]!) || (lines[end]!.trim() === "" && /^(\s{2,}|\t)\S/.test(lines[end + 1] ?? "")))) {
      inner.push(lines[end]!.replace(/^(\t| {2,4})/, ""));
      end++;
    }
    items.push({ inline: inline(match[3]!), blocks: blocks(inner.join("\n"), depth + 1) });
    // One empty line between two items does not end the list.
    if (lines[end]?.trim() === "" && ITEM.test(lines[end + 1] ?? "")) end++;
  }
  return [{ is: "list", isOrdered, from, items }, end];
}

function isDelimiter(line: string | undefined, head: string): boolean {
  return line !== undefined && line.includes("-") && DELIMITER.test(line) && cells(line).length === cells(head).length;
}

function table(lines: string[], at: number): Read {
  const head = cells(lines[at]!);
  const align = cells(lines[at + 1]!).map((cell): Align => (!cell.endsWith(":") ? "start" : cell.startsWith(":") ? "center" : "end"));
  const rows: Inline[][][] = [];
  let end = at + 2;
  for (; end < lines.length && lines[end]!.includes("|"); end++) {
    const row = cells(lines[end]!);
    rows.push(head.map((_, column) => inline(row[column] ?? "")));
  }
  return [{ is: "table", align, head: head.map(inline), rows }, end];
}

/** A bar that is escaped or inside code belongs to its cell. */
function cells(line: string): string[] {
  const found: string[] = [];
  let cell = "";
  let isCode = false;
  const plain = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  for (let at = 0; at < plain.length; at++) {
    const sign = plain[at]!;
    if (sign === "\\" && plain[at + 1] === "|") {
      cell += "|";
      at++;
    } else if (sign === "|" && !isCode) {
      found.push(cell.trim());
      cell = "";
    } else {
      if (sign === "`") isCode = !isCode;
      cell += sign;
    }
  }
  return [...found, cell.trim()];
}

const PIECES = new RegExp(
  [
    /\\([\\`*_{}[\]()#+\-.!|<>~])/u, // 1: escaped
    /(`+)(.+?)\2(?!`)/u, // 2, 3: code
    /\[(\d{1,3})\](?!\()/u, // 4: reference
    /\[([^\]]+)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/u, // 5, 6: link
    /\*\*(?=\S)(.+?)(?<=\S)\*\*/u, // 7: strong
    /\*(?=[^\s*])([^*]+?)(?<=\S)\*/u, // 8: emphasis
    // A name with underscores is a name.
    /(?<![\p{L}\p{N}_])__(?=\S)(.+?)(?<=\S)__(?![\p{L}\p{N}_])/u, // 9: strong
    /(?<![\p{L}\p{N}_])_(?=[^\s_])([^_]+?)(?<=\S)_(?![\p{L}\p{N}_])/u, // 10: emphasis
  ].map((piece) => piece.source).join("|"),
  "gsu",
);

export function inline(text: string, depth = 0): Inline[] {
  if (depth >= DEEPEST) return text === "" ? [] : [{ is: "text", text }];
  const found: Inline[] = [];
  const say = (words: string) => {
    const last = found.at(-1);
    if (words === "") return;
    if (last?.is === "text") last.text += words;
    else found.push({ is: "text", text: words });
  };
  let at = 0;
  for (const match of text.matchAll(PIECES)) {
    say(text.slice(at, match.index));
    at = match.index + match[0].length;
    const [, escaped, , codeText, reference, linked, url] = match;
    const strong = match[7] ?? match[9];
    const em = match[8] ?? match[10];
    if (escaped !== undefined) say(escaped);
    else if (codeText !== undefined) found.push({ is: "code", text: codeText });
    else if (reference !== undefined) found.push({ is: "reference", number: Number(reference) });
    else if (linked !== undefined) found.push({ is: "link", url: url ?? "", inline: inline(linked, depth + 1) });
    else if (strong !== undefined) found.push({ is: "strong", inline: inline(strong, depth + 1) });
    else if (em !== undefined) found.push({ is: "em", inline: inline(em, depth + 1) });
  }
  say(text.slice(at));
  return found;
}

/** The numbers that a text refers to, each once, in the order of the text. */
export function referencesIn(text: string): number[] {
  const numbers: number[] = [];
  const walk = (parts: Inline[]) => {
    for (const part of parts) {
      if (part.is === "reference") numbers.push(part.number);
      else if ("inline" in part) walk(part.inline);
    }
  };
  const visit = (block: Block) => {
    if ("inline" in block) walk(block.inline);
    if (block.is === "quote") block.blocks.forEach(visit);
    if (block.is === "list") block.items.forEach((item) => (walk(item.inline), item.blocks.forEach(visit)));
    if (block.is === "table") [block.head, ...block.rows].flat().forEach(walk);
  };
  blocks(text).forEach(visit);
  return [...new Set(numbers)];
}

/**
 * Parses the Markdown of answers into a tree: paragraphs, headings, lists, tables, quotes, code, strong, emphasis, links and
 * references such as `[1]`. Other markup stays text. Incomplete text is valid, because answers are rendered while they stream.
 */

export type Inline =
  | { type: "text" | "code"; text: string }
  | { type: "strong" | "em"; inline: Inline[] }
  | { type: "link"; url: string; inline: Inline[] }
  | { type: "reference"; number: number };

export type Align = "start" | "center" | "end";

export type Block =
  | { type: "paragraph"; inline: Inline[] }
  | { type: "heading"; level: number; inline: Inline[] }
  | { type: "list"; isOrdered: boolean; start: number; items: ListItem[] }
  | { type: "code"; text: string }
  | { type: "quote"; blocks: Block[] }
  | { type: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { type: "rule" };

export interface ListItem {
  inline: Inline[];
  blocks: Block[];
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const DELIMITER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
/** Limits recursion on hostile input. */
const MAX_DEPTH = 6;

export function parseBlocks(text: string, depth = 0): Block[] {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const result: Block[] = [];
  for (let index = 0; index < lines.length; ) {
    const line = lines[index] ?? "";
    if (line.trim() === "") {
      index++;
      continue;
    }
    const [block, next] = (depth < MAX_DEPTH ? parseSpecialBlock(lines, index, depth) : undefined) ?? parseParagraph(lines, index, depth);
    result.push(block);
    index = next;
  }
  return result;
}

type ParsedBlock = [Block, number];

function parseSpecialBlock(lines: string[], index: number, depth: number): ParsedBlock | undefined {
  const line = lines[index] ?? "";
  const heading = HEADING.exec(line);
  if (heading) return [{ type: "heading", level: heading[1]!.length, inline: parseInline(heading[2]!) }, index + 1];
  if (FENCE.test(line)) return parseCode(lines, index);
  if (RULE.test(line)) return [{ type: "rule" }, index + 1];
  if (QUOTE.test(line)) return parseQuote(lines, index, depth);
  if (ITEM.test(line)) return parseList(lines, index, depth);
  return line.includes("|") && isDelimiter(lines[index + 1], line) ? parseTable(lines, index) : undefined;
}

function parseParagraph(lines: string[], index: number, depth: number): ParsedBlock {
  let end = index + 1;
  while (end < lines.length && lines[end]!.trim() !== "" && !(depth < MAX_DEPTH && parseSpecialBlock(lines, end, depth))) end++;
  return [{ type: "paragraph", inline: parseInline(lines.slice(index, end).map((line) => line.trim()).join("\n")) }, end];
}

function parseCode(lines: string[], index: number): ParsedBlock {
  const fence = FENCE.exec(lines[index]!)![1]!;
  let end = index + 1;
  while (end < lines.length && !lines[end]!.trim().startsWith(fence)) end++;
  return [{ type: "code", text: lines.slice(index + 1, end).join("\n") }, end + 1];
}

function parseQuote(lines: string[], index: number, depth: number): ParsedBlock {
  let end = index;
  while (end < lines.length && QUOTE.test(lines[end]!)) end++;
  return [{ type: "quote", blocks: parseBlocks(lines.slice(index, end).map((line) => line.replace(QUOTE, "")).join("\n"), depth + 1) }, end];
}

function parseList(lines: string[], index: number, depth: number): ParsedBlock {
  const isOrdered = /\d/.test(ITEM.exec(lines[index]!)![2]!);
  const start = isOrdered ? Number.parseInt(lines[index]!.trim(), 10) : 1;
  const items: ListItem[] = [];
  let end = index;
  for (;;) {
    const match = end < lines.length ? ITEM.exec(lines[end]!) : null;
    if (!match || /\d/.test(match[2]!) !== isOrdered) break;
    const inner: string[] = [];
    end++;
    // Indented lines belong to the item, also after an empty line.
    while (end < lines.length && (/^(\s{2,}|\t)\S/.test(lines[end]!) || (lines[end]!.trim() === "" && /^(\s{2,}|\t)\S/.test(lines[end + 1] ?? "")))) {
      inner.push(lines[end]!.replace(/^(\t| {2,4})/, ""));
      end++;
    }
    items.push({ inline: parseInline(match[3]!), blocks: parseBlocks(inner.join("\n"), depth + 1) });
    // An empty line between two items does not end the list.
    if (lines[end]?.trim() === "" && ITEM.test(lines[end + 1] ?? "")) end++;
  }
  return [{ type: "list", isOrdered, start, items }, end];
}

function isDelimiter(line: string | undefined, head: string): boolean {
  return line !== undefined && line.includes("-") && DELIMITER.test(line) && splitCells(line).length === splitCells(head).length;
}

function parseTable(lines: string[], index: number): ParsedBlock {
  const head = splitCells(lines[index]!);
  const align = splitCells(lines[index + 1]!).map((cell): Align => (!cell.endsWith(":") ? "start" : cell.startsWith(":") ? "center" : "end"));
  const rows: Inline[][][] = [];
  let end = index + 2;
  for (; end < lines.length && lines[end]!.includes("|"); end++) {
    const row = splitCells(lines[end]!);
    rows.push(head.map((_, column) => parseInline(row[column] ?? "")));
  }
  return [{ type: "table", align, head: head.map(parseInline), rows }, end];
}

/** Splits a table row. Bars that are escaped or inside code do not separate cells. */
function splitCells(line: string): string[] {
  const result: string[] = [];
  let cell = "";
  let isCode = false;
  const plain = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  for (let index = 0; index < plain.length; index++) {
    const char = plain[index]!;
    if (char === "\\" && plain[index + 1] === "|") {
      cell += "|";
      index++;
    } else if (char === "|" && !isCode) {
      result.push(cell.trim());
      cell = "";
    } else {
      if (char === "`") isCode = !isCode;
      cell += char;
    }
  }
  return [...result, cell.trim()];
}

const INLINE_PATTERN = new RegExp(
  [
    /\\([\\`*_{}[\]()#+\-.!|<>~])/u, // 1: escaped
    /(`+)(.+?)\2(?!`)/u, // 2, 3: code
    /\[(\d{1,3})\](?!\()/u, // 4: reference
    /\[([^\]]+)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/u, // 5, 6: link
    /\*\*(?=\S)(.+?)(?<=\S)\*\*/u, // 7: strong
    /\*(?=[^\s*])([^*]+?)(?<=\S)\*/u, // 8: emphasis
    // Underscores inside words are not emphasis.
    /(?<![\p{L}\p{N}_])__(?=\S)(.+?)(?<=\S)__(?![\p{L}\p{N}_])/u, // 9: strong
    /(?<![\p{L}\p{N}_])_(?=[^\s_])([^_]+?)(?<=\S)_(?![\p{L}\p{N}_])/u, // 10: emphasis
  ].map((pattern) => pattern.source).join("|"),
  "gsu",
);

export function parseInline(text: string, depth = 0): Inline[] {
  if (depth >= MAX_DEPTH) return text === "" ? [] : [{ type: "text", text }];
  const result: Inline[] = [];
  const addText = (content: string) => {
    const last = result.at(-1);
    if (content === "") return;
    if (last?.type === "text") last.text += content;
    else result.push({ type: "text", text: content });
  };
  let index = 0;
  for (const match of text.matchAll(INLINE_PATTERN)) {
    addText(text.slice(index, match.index));
    index = match.index + match[0].length;
    const [, escaped, , codeText, reference, linkText, url] = match;
    const strong = match[7] ?? match[9];
    const em = match[8] ?? match[10];
    if (escaped !== undefined) addText(escaped);
    else if (codeText !== undefined) result.push({ type: "code", text: codeText });
    else if (reference !== undefined) result.push({ type: "reference", number: Number(reference) });
    else if (linkText !== undefined) result.push({ type: "link", url: url ?? "", inline: parseInline(linkText, depth + 1) });
    else if (strong !== undefined) result.push({ type: "strong", inline: parseInline(strong, depth + 1) });
    else if (em !== undefined) result.push({ type: "em", inline: parseInline(em, depth + 1) });
  }
  addText(text.slice(index));
  return result;
}

/** Returns the reference numbers of a text in order, without duplicates. */
export function referencesIn(text: string): number[] {
  const numbers: number[] = [];
  const walk = (parts: Inline[]) => {
    for (const part of parts) {
      if (part.type === "reference") numbers.push(part.number);
      else if ("inline" in part) walk(part.inline);
    }
  };
  const visit = (block: Block) => {
    if ("inline" in block) walk(block.inline);
    if (block.type === "quote") block.blocks.forEach(visit);
    if (block.type === "list") block.items.forEach((item) => (walk(item.inline), item.blocks.forEach(visit)));
    if (block.type === "table") [block.head, ...block.rows].flat().forEach(walk);
  };
  parseBlocks(text).forEach(visit);
  return [...new Set(numbers)];
}

/** Markdown as elements: text only ever becomes text. */
import { Fragment, type ReactNode } from "react";
import { SafeLink } from "./link";
import { blocks, type Block, type Inline } from "./markdown";

interface Props {
  text: string;
  /** How a reference is shown; where there is none, as it was written. */
  reference?(number: number): ReactNode;
  /** What follows the last word. */
  end?: ReactNode;
  /** What can be scrolled is called so. */
  labels: { table: string; code: string };
}

export function Markdown({ text, reference, end, labels }: Props) {
  const show = (part: Inline, key: number): ReactNode => {
    switch (part.is) {
      case "text":
        return part.text;
      case "code":
        return <code key={key}>{part.text}</code>;
      case "strong":
        return <strong key={key}>{part.inline.map(show)}</strong>;
      case "em":
        return <em key={key}>{part.inline.map(show)}</em>;
      case "link":
        return <SafeLink key={key} url={part.url}>{part.inline.map(show)}</SafeLink>;
      case "reference":
        return <Fragment key={key}>{reference?.(part.number) ?? `[${part.number}]`}</Fragment>;
    }
  };
  const draw = (block: Block, key: number, after: ReactNode): ReactNode => {
    switch (block.is) {
      case "paragraph":
        return <p key={key} dir="auto">{block.inline.map(show)}{after}</p>;
      case "heading":
        // Headings of a text of others would tear the page's own order.
        return <p key={key} class="heading" dir="auto"><strong>{block.inline.map(show)}</strong>{after}</p>;
      case "rule":
        return <hr key={key} />;
      case "code":
        return <pre key={key} tabIndex={0} role="group" aria-label={labels.code}><code>{block.text}</code></pre>;
      case "quote":
        return <blockquote key={key}>{all(block.blocks, after)}</blockquote>;
      case "list": {
        const items = block.items.map((item, index) => {
          const last = index === block.items.length - 1 ? after : null;
          return <li key={index} dir="auto">{item.inline.map(show)}{item.blocks.length === 0 && last}{all(item.blocks, last)}</li>;
        });
        return block.isOrdered ? <ol key={key} start={block.from}>{items}</ol> : <ul key={key}>{items}</ul>;
      }
      case "table":
        return (
          <div key={key} class="table" role="group" aria-label={labels.table} tabIndex={0}>
            <table>
              <thead>
                <tr>{block.head.map((cell, column) => <th key={column} scope="col" class={`is-${block.align[column]}`}>{cell.map(show)}</th>)}</tr>
              </thead>
              <tbody>
                {block.rows.map((row, index) => (
                  <tr key={index}>{row.map((cell, column) => <td key={column} class={`is-${block.align[column]}`} dir="auto">{cell.map(show)}</td>)}</tr>
                ))}
              </tbody>
            </table>
          </div>
        );
    }
  };
  const all = (list: Block[], after: ReactNode): ReactNode => list.map((block, index) => draw(block, index, index === list.length - 1 ? after : null));
  return <div class="markdown">{all(blocks(text), end)}</div>;
}

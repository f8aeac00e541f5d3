/** Renders Markdown as elements. Text never becomes markup. */
import { Fragment, type ReactNode } from "react";
import { SafeLink } from "./link";
import { type Block, type Inline, parseBlocks } from "./markdown";

interface Props {
  text: string;
  /** Renders a reference (default: the original text). */
  reference?(number: number): ReactNode;
  /** Rendered after the last word. */
  end?: ReactNode;
  /** Accessible names of scrollable regions. */
  labels: { table: string; code: string };
}

export function Markdown({ text, reference, end, labels }: Props) {
  const renderInline = (part: Inline, key: number): ReactNode => {
    switch (part.type) {
      case "text":
        return part.text;
      case "code":
        return <code key={key}>{part.text}</code>;
      case "strong":
        return <strong key={key}>{part.inline.map(renderInline)}</strong>;
      case "em":
        return <em key={key}>{part.inline.map(renderInline)}</em>;
      case "link":
        return <SafeLink key={key} url={part.url}>{part.inline.map(renderInline)}</SafeLink>;
      case "reference":
        return <Fragment key={key}>{reference?.(part.number) ?? `[${part.number}]`}</Fragment>;
    }
  };
  const renderBlock = (block: Block, key: number, trailing: ReactNode): ReactNode => {
    switch (block.type) {
      case "paragraph":
        return <p key={key} dir="auto">{block.inline.map(renderInline)}{trailing}</p>;
      case "heading":
        // Heading elements would break the outline of the page.
        return <p key={key} class="heading" dir="auto"><strong>{block.inline.map(renderInline)}</strong>{trailing}</p>;
      case "rule":
        return <hr key={key} />;
      case "code":
        return <pre key={key} tabIndex={0} role="group" aria-label={labels.code}><code>{block.text}</code></pre>;
      case "quote":
        return <blockquote key={key}>{renderBlocks(block.blocks, trailing)}</blockquote>;
      case "list": {
        const items = block.items.map((item, index) => {
          const last = index === block.items.length - 1 ? trailing : null;
          return <li key={index} dir="auto">{item.inline.map(renderInline)}{item.blocks.length === 0 && last}{renderBlocks(item.blocks, last)}</li>;
        });
        return block.isOrdered ? <ol key={key} start={block.start}>{items}</ol> : <ul key={key}>{items}</ul>;
      }
      case "table":
        return (
          <div key={key} class="table" role="group" aria-label={labels.table} tabIndex={0}>
            <table>
              <thead>
                <tr>{block.head.map((cell, column) => <th key={column} scope="col" class={`is-${block.align[column]}`}>{cell.map(renderInline)}</th>)}</tr>
              </thead>
              <tbody>
                {block.rows.map((row, index) => (
                  <tr key={index}>{row.map((cell, column) => <td key={column} class={`is-${block.align[column]}`} dir="auto">{cell.map(renderInline)}</td>)}</tr>
                ))}
              </tbody>
            </table>
          </div>
        );
    }
  };
  const renderBlocks = (list: Block[], trailing: ReactNode): ReactNode => list.map((block, index) => renderBlock(block, index, index === list.length - 1 ? trailing : null));
  return <div class="markdown">{renderBlocks(parseBlocks(text), end)}</div>;
}

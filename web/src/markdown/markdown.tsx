// Markdown as elements.
//
//   markdown-no-html. No HTML is made from a text of a model and none is parsed: its tokens become elements and text nodes one by one, so
//       there is nothing to sanitize. HTML in the text is shown as the text that it is.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { CodeHead } from '../ui/parts.tsx';
import { linkDefinitions, safeImage, safeLink, splitBlocks } from './blocks.ts';
import type { Inline } from './read-inline.ts';
import { readMarkdown } from './read-markdown.ts';
import type { Alignment, MarkdownBlock } from './read-markdown.ts';

export const Markdown = ({ text }: { readonly text: string }) => {
  const definitions = linkDefinitions(text);
  return (
    <div class="markdown">
      {splitBlocks(text).map((block, at) => (
        // Blocks are only added at the end.
        // oxlint-disable-next-line react/no-array-index-key
        <Block key={at} source={definitions === '' ? block : `${block}\n\n${definitions}`} />
      ))}
    </div>
  );
};

/** Read once for each text: an element that is the same is not compared again. */
const Block = ({ source }: { readonly source: string }) => useMemo(() => <>{blocks(readMarkdown(source))}</>, [source]);

type Tree = ComponentChildren;

const blocks = (all: readonly MarkdownBlock[], isTight = false): Tree =>
  all.map((block) => (isTight && block.type === 'paragraph' ? inlines(block.of) : element(block)));

const element = (block: MarkdownBlock): Tree => {
  switch (block.type) {
    case 'heading': {
      // Headings of an answer are below those of the page.
      const Heading = `h${Math.min(6, block.level + 2)}` as 'h3';
      return <Heading>{inlines(block.of)}</Heading>;
    }
    case 'paragraph':
      return <p>{inlines(block.of)}</p>;
    case 'quote':
      return <blockquote>{blocks(block.of)}</blockquote>;
    case 'rule':
      return <hr />;
    case 'code':
      return <CodeBlock {...block} />;
    case 'list':
      return list(block);
    case 'table':
      return table(block);
  }
};

const inlines = (all: readonly Inline[]): Tree => all.map(inline);

const inline = (part: Inline): Tree => {
  if (typeof part === 'string') return part;
  switch (part.type) {
    case 'strong':
    case 'em':
    case 'del': {
      const Emphasis = part.type;
      return <Emphasis>{inlines(part.of)}</Emphasis>;
    }
    case 'code':
      return <code>{part.text}</code>;
    case 'br':
      return <br />;
    case 'box':
      return <input type="checkbox" checked={part.isTicked} disabled aria-label="Task" />;
    case 'link': {
      const address = safeLink(part.href);
      if (address === null) return inlines(part.of);
      return (
        <a href={address} title={address} target="_blank" rel="noopener noreferrer">
          {inlines(part.of)}
        </a>
      );
    }
    case 'image': {
      // Nothing is fetched from elsewhere for the sake of a text.
      const source = safeImage(part.href);
      return source === null ? (
        <span class="no-image">{part.text === '' ? 'picture' : part.text}</span>
      ) : (
        <img src={source} alt={part.text} />
      );
    }
  }
};

const list = ({ start, isLoose, items }: MarkdownBlock & { type: 'list' }): Tree => {
  const List = start === null ? 'ul' : 'ol';
  return (
    <List class={isLoose ? 'is-loose' : undefined} start={start ?? undefined}>
      {items.map(({ isTask, of }) => (
        <li class={isTask ? 'is-task' : undefined}>{blocks(of, !isLoose)}</li>
      ))}
    </List>
  );
};

const table = ({ head, rows, alignments }: MarkdownBlock & { type: 'table' }): Tree => (
  <div class="markdown-table" tabIndex={0} role="region" aria-label="Table">
    <table>
      <thead>
        <tr>{cells(head, 'th', alignments)}</tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>{cells(row, 'td', alignments)}</tr>
        ))}
      </tbody>
    </table>
  </div>
);

const cells = (all: readonly (readonly Inline[])[], Cell: 'td' | 'th', alignments: readonly Alignment[]): Tree =>
  all.map((cell, at) => (
    <Cell class={alignments[at] == null ? undefined : `align-${alignments[at]}`}>{inlines(cell)}</Cell>
  ));

const CodeBlock = ({ text, language }: { readonly text: string; readonly language: string }) => (
  <div class="code-block">
    <CodeHead title={language.split(/\s/u)[0]!} text={() => text} />
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
  </div>
);

// Markdown as elements.
//
//   markdown-no-html. No HTML is made from a text of a model and none is parsed: its tokens become elements and text nodes one by one, so
//       there is nothing to sanitize. HTML in the text is shown as the text that it is.
import { Lexer } from 'marked';
import type { Token, Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { CopyButton } from '../ui/parts.tsx';
import { decodeEntities, linkDefinitions, safeImage, safeLink, splitBlocks } from './blocks.ts';

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
const Block = ({ source }: { readonly source: string }) => useMemo(() => <>{elements(lex(source))}</>, [source]);

const lex = (source: string): readonly Token[] => new Lexer({ gfm: true }).lex(source);

type Tree = ComponentChildren;

/** Deeper ones are shown as text: each level costs a call. */
const maxDepth = 60;

const elements = (tokens: readonly Token[] | undefined, depth = 0): Tree =>
  tokens?.map((token) => (depth > maxDepth ? token.raw : element(token, depth + 1)));

const element = (token: Token, depth: number): Tree => blockElement(token, depth) ?? inlineElement(token, depth);

const blockElement = (token: Token, depth: number): Tree => {
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'heading': {
      // Headings of an answer are below those of the page.
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as 'h3';
      return <Heading>{elements(token.tokens, depth)}</Heading>;
    }
    case 'paragraph':
      return <p>{elements(token.tokens, depth)}</p>;
    case 'blockquote':
      return <blockquote>{elements(token.tokens, depth)}</blockquote>;
    case 'hr':
      return <hr />;
    case 'code':
      return <CodeBlock text={(token as Tokens.Code).text} lang={(token as Tokens.Code).lang ?? ''} />;
    case 'list':
      return list(token as Tokens.List, depth);
    case 'table':
      return table(token as Tokens.Table, depth);
    default:
      return null;
  }
};

const inlineElement = (token: Token, depth: number): Tree => {
  switch (token.type) {
    case 'strong':
      return <strong>{elements(token.tokens, depth)}</strong>;
    case 'em':
      return <em>{elements(token.tokens, depth)}</em>;
    case 'del':
      return <del>{elements(token.tokens, depth)}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'br':
      return <br />;
    case 'checkbox':
      return <input type="checkbox" checked={(token as Tokens.Checkbox).checked} disabled aria-label="Task" />;
    case 'link':
      return link(token as Tokens.Link, depth);
    case 'image':
      return image(token as Tokens.Image);
    case 'html':
      return /^<br\s*\/?>$/iu.test(token.raw.trim()) ? <br /> : token.raw;
    case 'escape':
      return (token as Tokens.Escape).text;
    default:
      return 'tokens' in token && token.tokens !== undefined
        ? elements(token.tokens, depth)
        : decodeEntities('text' in token ? String(token.text) : token.raw);
  }
};

const link = ({ href, tokens }: Tokens.Link, depth: number): Tree => {
  const address = safeLink(decodeEntities(href));
  if (address === null) return elements(tokens, depth);
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer">
      {elements(tokens, depth)}
    </a>
  );
};

/** Nothing is fetched from elsewhere for the sake of a text. */
const image = ({ href, text }: Tokens.Image): Tree => {
  const source = safeImage(href);
  return source === null ? (
    <span class="no-image">{text === '' ? 'picture' : text}</span>
  ) : (
    <img src={source} alt={text} />
  );
};

const list = ({ ordered, start, items, loose }: Tokens.List, depth: number): Tree => {
  const rows = items.map((item, at) => (
    // oxlint-disable-next-line react/no-array-index-key
    <li key={at} class={item.task ? 'is-task' : undefined}>
      {elements(item.tokens, depth)}
    </li>
  ));
  const looks = loose ? 'is-loose' : undefined;
  if (!ordered) return <ul class={looks}>{rows}</ul>;
  return (
    <ol class={looks} start={start === '' ? undefined : start}>
      {rows}
    </ol>
  );
};

const table = ({ header, rows, align }: Tokens.Table, depth: number): Tree => (
  <div class="markdown-table" tabIndex={0} role="region" aria-label="Table">
    <table>
      <thead>
        <tr>{header.map((cell, at) => cellOf(cell, 'th', align[at], depth))}</tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>{row.map((cell, at) => cellOf(cell, 'td', align[at], depth))}</tr>
        ))}
      </tbody>
    </table>
  </div>
);

const cellOf = (
  { tokens }: Tokens.TableCell,
  Cell: 'td' | 'th',
  align: 'center' | 'left' | 'right' | null | undefined,
  depth: number,
): Tree => <Cell class={align == null ? undefined : `align-${align}`}>{elements(tokens, depth)}</Cell>;

const CodeBlock = ({ text, lang }: { readonly text: string; readonly lang: string }) => (
  <div class="code-block">
    <div class="code-head">
      <span>{lang.split(/\s/u)[0]}</span> <CopyButton text={() => text} />
    </div>
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
  </div>
);

// A text of an agent in the form that it has: plain, Markdown or JSON.
import { looksLikeMarkdown, parsedJson } from './blocks.ts';
import { JsonTree } from './json-tree.tsx';
import { Markdown } from './markdown.tsx';

export type TextFormat = 'text' | 'markdown' | 'json';

type AnswerTextProps = {
  readonly text: string;
  /** Undefined: nobody knows. */
  readonly format?: TextFormat | undefined;
  readonly isLive?: boolean;
};

export const AnswerText = ({ text, format, isLive = false }: AnswerTextProps) => {
  const value = isLive || format === 'markdown' ? undefined : parsedJson(text);
  if (value !== undefined) return <JsonTree value={value} />;
  return format === 'markdown' || (format === undefined && looksLikeMarkdown(text)) ? (
    <Markdown text={text} />
  ) : (
    <div class="plain-text">{text}</div>
  );
};

// A text of an agent in the form that it has: plain, Markdown or JSON. The code for the last two is loaded when it is first needed.
import { later } from '../ui/later.tsx';
import { looksLikeMarkdown, parsedJson } from './blocks.ts';

export type TextFormat = 'text' | 'markdown' | 'json';

const loadMarkdown = () => import('./markdown.tsx').then(({ Markdown }) => Markdown);
const Plain = ({ text }: { readonly text: string }) => <div class="plain-text">{text}</div>;
const Markdown = later(loadMarkdown, Plain);
const JsonTree = later(() => import('./json-tree.tsx').then(({ JsonTree: view }) => view));

/** Before the first answer, so that it does not change its looks. */
export const preloadMarkdown = (): void => void loadMarkdown();

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
    <Plain text={text} />
  );
};

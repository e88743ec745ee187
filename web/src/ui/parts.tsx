// Small parts that all views use.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** How a run, a room or a task stands. Each has a shape, so that colour never speaks alone. */
export const statusLooks = (status: string): { readonly mark: string; readonly words: string } => {
  const [mark, words] = looks[status] ?? ['idle', status];
  return { mark, words: words ?? capitalized(status) };
};

/** The shape, and the words if they are not the status itself. */
const looks: Readonly<Record<string, readonly [string, string?]>> = {
  running: ['live', 'Working'],
  completed: ['done'],
  partial: ['half'],
  idle: ['idle', 'Waits for messages'],
  waiting: ['waits', 'Waiting for you'],
  interrupted: ['waits'],
  failed: ['failed'],
  cancelled: ['stopped', 'Stopped'],
  limit: ['failed'],
  budget: ['failed'],
  timeout: ['failed'],
  damaged: ['failed'],
};

export const StatusMark = ({ status }: { readonly status: string }) => (
  <span class={`mark mark-${statusLooks(status).mark}`} aria-hidden="true" />
);

type StatusProps = { readonly status: string; readonly words?: string; readonly children?: ComponentChildren };

export const Status = ({ status, words, children }: StatusProps) => (
  <span class={`status status-${statusLooks(status).mark}`}>
    <StatusMark status={status} /> {words ?? statusLooks(status).words} {children}
  </span>
);

export const Busy = () => <div class="pane-empty" aria-busy="true" />;

/** The head of a list. `of`: the class of its rows. */
export const Titles = ({ of, titles }: { readonly of: string; readonly titles: readonly string[] }) => (
  <div class={`${of} titles`} role="row">
    {titles.map((title) => (
      <span key={title} role="columnheader">
        {title}
      </span>
    ))}
  </div>
);

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="pane-empty">
    <p class="pane-empty-title">{title}</p>
    {children}
  </div>
);

type ButtonProps = { readonly onClick: () => void; readonly children: ComponentChildren };

export const Button = ({ onClick, children }: ButtonProps) => (
  <button type="button" class="button small" onClick={onClick}>
    {children}
  </button>
);

/** Says for two seconds that it has copied. */
export const CopyButton = ({ text, label = 'Copy' }: { readonly text: () => string; readonly label?: string }) => {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return <Button onClick={copy}>{isCopied ? 'Copied' : label}</Button>;
};

export const CodeHead = ({ title, text }: { readonly title: string; readonly text: () => string }) => (
  <div class="code-head">
    <span>{title}</span> <CopyButton text={text} />
  </div>
);

export const Problem = ({ error }: { readonly error: Error & { readonly suggestion?: string } }) => (
  <div class="problem" role="alert">
    <strong>{error.message}</strong>
    {error.suggestion ? <span> {error.suggestion}</span> : null}
  </div>
);

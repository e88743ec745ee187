// The parts of one request: how much of the prompt each is, and what it says.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count, formatBytes } from '#headends/run-view';
import { Button } from '../ui/parts.tsx';
import { groupParts } from './origin.ts';
import type { PartView, RequestView } from './origin.ts';
import { findAll, sentenceAt } from './text-pieces.ts';
import type { Span } from './text-pieces.ts';

/** The prompt as one bar, each part as long as it is large. */
export const OriginBar = ({ parts, bytes }: Pick<RequestView, 'parts' | 'bytes'>) => (
  <div
    class={parts.length < 100 ? 'bar origin-bar' : 'bar'}
    role="img"
    aria-label={groupParts(parts)
      .map((one) => `${one.name} ${count(one.bytes)} bytes`)
      .join(', ')}
  >
    {parts.map(({ id, hue, bytes: size }) => (
      <i key={id} class={`hue-${hue}`} style={{ flex: `${Math.max(size, bytes / 200)} 0 0` }} />
    ))}
  </div>
);

/** Brings what is selected into sight: the sentence, or the part. */
export const revealPart = (no: number): void => {
  const part = document.getElementById(`part-${no}`);
  (part?.querySelector('mark') ?? part)?.scrollIntoView({ block: 'nearest' });
};

type PartProps = {
  readonly part: PartView;
  readonly isSelected: boolean;
  /** Whole texts, in which one can click; otherwise the first two lines. */
  readonly whole: boolean;
  readonly find: string;
  readonly onPick: (find: string) => void;
  readonly children?: ComponentChildren;
};

export const Part = ({ part, isSelected, whole, find, onPick, children }: PartProps) => (
  <li class={`part hue-${part.hue}${isSelected ? ' is-selected' : ''}`} id={`part-${part.no}`}>
    <button type="button" class="plain line part-title" aria-expanded={isSelected} onClick={() => onPick('')}>
      <strong class="cut">{part.title}</strong> <span class="muted small cut">{part.origin}</span>
      <span class="at-end muted small">{count(part.bytes)} B</span>
    </button>
    {whole ? (
      <WholeText text={part.text} find={find} isSelected={isSelected} onPick={onPick} />
    ) : (
      <pre class="part-text is-clamped is-short" aria-hidden="true">
        {part.text.slice(0, 400).replaceAll(/\s+/gu, ' ')}
      </pre>
    )}
    {children}
  </li>
);

const firstChars = 20_000;

type TextProps = Pick<PartProps, 'find' | 'isSelected' | 'onPick'> & { readonly text: string };

/** A click picks the sentence, a selection exactly what was selected. */
const WholeText = ({ text, find, isSelected, onPick }: TextProps) => {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? text : text.slice(0, firstChars);
  const pick = ({ currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    const chosen = getSelection();
    if (chosen === null || chosen.rangeCount === 0) return;
    const exact = chosen.toString().trim();
    if (exact !== '') return onPick(exact);
    const span = sentenceAt(shown, offsetIn(currentTarget, chosen));
    if (span !== null) onPick(shown.slice(span.from, span.to));
  };
  const found = findAll(shown, find);
  const isClamped = !isSelected && found.length === 0;
  return (
    <>
      <pre class={`part-text ${isClamped ? 'is-clamped' : ''}`} onClick={pick}>
        {markText(shown, found, isSelected)}
      </pre>
      {!isClamped && shown.length < text.length ? (
        <Button onClick={() => setWhole(true)}>Show all {formatBytes(text.length)}</Button>
      ) : null}
    </>
  );
};

/** Where in the text of an element the click was. */
const offsetIn = (element: HTMLElement, { anchorNode, anchorOffset }: Selection): number => {
  let offset = anchorOffset;
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null && node !== anchorNode; node = texts.nextNode())
    offset += node.textContent?.length ?? 0;
  return offset;
};

const markText = (text: string, spans: readonly Span[], isStrong: boolean): ComponentChildren => {
  const pieces: ComponentChildren[] = [];
  let at = 0;
  for (const { from, to } of spans) {
    pieces.push(text.slice(at, from), <mark class={isStrong ? 'is-chosen' : ''}>{text.slice(from, to)}</mark>);
    at = to;
  }
  return [...pieces, text.slice(at)];
};

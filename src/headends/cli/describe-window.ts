// What happens to a window, in words.
import type { WindowLimit } from '#contracts';
import { count, plural, compactNumber } from './format-numbers.ts';

type Trimmed = {
  readonly what: 'compacted' | 'shortened' | 'dropped';
  readonly messages: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
};

export const trimWords = ({ what, messages, bytesBefore, bytesAfter }: Trimmed): string =>
  `${plural(messages, 'message')} ${what}, ${compactNumber(bytesBefore)} → ${compactNumber(bytesAfter)} bytes`;

export const clampWords = ({ window, was }: { readonly window: WindowLimit; readonly was: number | null }): string =>
  `clamped ${was === null ? '' : `from ${count(was)} `}to ${plural(window.tokens, 'token')}, ${limitWords[window.by]}`;

/** Why a window is as large as it is. */
export const limitWords: Readonly<Record<WindowLimit['by'], string>> = {
  model: 'as its model takes',
  given: 'as its agent says',
  group: 'as the smallest of its group',
  default: 'by default',
};

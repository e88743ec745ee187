// Describes changes to a context window.
import type { WindowLimit } from '#contracts';
import { count, plural, compactNumber } from './format-numbers.ts';

type WindowTrim = {
  readonly what: 'compacted' | 'shortened' | 'dropped';
  readonly messages: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
};

export const describeTrim = ({ what, messages, bytesBefore, bytesAfter }: WindowTrim): string =>
  `${plural(messages, 'message')} ${what}, ${compactNumber(bytesBefore)} → ${compactNumber(bytesAfter)} bytes`;

export const describeClamp = ({ window, was }: { readonly window: WindowLimit; readonly was: number | null }): string =>
  `clamped ${was === null ? '' : `from ${count(was)} `}to ${plural(window.tokens, 'token')}, ${windowLimitReasons[window.by]}`;

/** What limits the size of a window. */
export const windowLimitReasons: Readonly<Record<WindowLimit['by'], string>> = {
  model: 'limited by the model',
  given: 'limited by contextTokensMax',
  group: 'limited by its budget group',
  default: 'by default',
};

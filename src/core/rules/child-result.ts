// Renders a child's answer for its parent's model: framed as data, with the sender set by the runtime.
import { errorText1, limitSentence } from '#base';
import type { Json } from '#base';
import { decodeEnvelope } from '#contracts';
import type { Envelope, Settlement } from '#contracts';
import { dataFrame, lineBreak } from './data-frame.ts';
import type { FrameLine } from './data-frame.ts';
import { sourceCall, failureText, toolMessage } from './dialog.ts';
import { outputName, preview, previewBytesMax, splitPreview } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** child-result@1. Sources: the call, the child operation and, unless refused, the crossing. Numbers: most bytes shown, number of the output. */
export const childResultRule: Rule = ([call, operation, crossing], [bytesMax = 0, nth = 1]) => {
  const { id, name } = sourceCall(call);
  if (crossing === undefined)
    return toolMessage(id, name, { type: 'error-text', value: failureText(operationFailure(operation)) });
  const envelope = readEnvelope(crossing);
  // probe: child-result-heading
  const heading = `Result from ${name} (status: ${envelope.status}).${envelopeErrorText(envelope)}${missingText(envelope)}`;
  return toolMessage(id, name, {
    type: envelope.output === '' ? 'error-text' : 'text',
    value:
      envelope.output === ''
        ? heading
        : dataFrame(heading, shownLines(envelope.output, bytesMax, outputName(name, nth, 'txt'))),
  });
};

export const readEnvelope = (source: ResolvedSource | undefined): Envelope => {
  if (source?.from !== 'crossing') throw new TypeError('the rule needs a crossing');
  return decodeEnvelope(source.content);
};

export const operationFailure = (source: ResolvedSource | undefined) => {
  if (source?.from !== 'operation') throw new TypeError('the rule needs an operation');
  const settled: Settlement<Json> = source.settled;
  return settled.ok ? { code: 'crossing_refused' as const } : settled.failure;
};

/** Whether a text, framed as data, is too long to be shown whole. */
export const exceedsPreview = (text: string, bytesMax: number): boolean => {
  const bytes = Buffer.byteLength(text);
  return bytes > bytesMax || bytes + 2 * (text.match(lineBreak)?.length ?? 0) > bytesMax;
};

/** The text, or its preview if it is too long to be shown whole. */
export const previewIfLong = (text: string, bytesMax: number, name: string): string =>
  exceedsPreview(text, bytesMax) ? preview(text, name, Math.min(previewBytesMax, bytesMax)) : text;

/** The same for a frame: the runtime's words stand outside the text. */
export const shownLines = (text: string, bytesMax: number, name: string): readonly FrameLine[] => {
  const { text: shown, more } = splitIfLong(text, bytesMax, name);
  return more === null ? [{ data: shown }] : [{ data: shown }, { note: more }];
};

export const splitIfLong = (text: string, bytesMax: number, name: string): { text: string; more: string | null } => {
  if (!exceedsPreview(text, bytesMax)) return { text, more: null };
  const { shown, more } = splitPreview(text, name, Math.min(previewBytesMax, bytesMax));
  return { text: shown, more };
};

export const envelopeErrorText = ({ error }: Envelope): string =>
  error === null
    ? ''
    : ` Error (${error.class}): ${errorText1(error.code).summary}${limitSentence(error)} ${errorText1(error.code).suggestion}`;

/** Agents that it called or started and that did not complete; of those that it started, also how they ended. */
export const missingText = ({ missing, spawned = [] }: Envelope): string => {
  const statuses = new Map(spawned.map(({ agent, status }) => [agent, ` (${status})`]));
  const names = missing.map((name) => `${name}${statuses.get(name) ?? ''}`);
  return names.length === 0 ? '' : ` Missing: ${names.join(', ')}.`;
};

// How a child's answer is shown to its parent's model: framed as data, with the sender set by the runtime.
import { errorCatalogue } from '#base';
import type { Json } from '#base';
import type { Envelope, Settled } from '#contracts';
import { dataFrame, lineBreak } from './data-frame.ts';
import { callOf, failureText, toolMessage } from './dialog.ts';
import { outputName, preview, previewBytesMax } from './preview.ts';
import type { Resolved, Rule } from './rule.ts';

/** child-result@1 of the call, the child operation and, unless refused, the crossing; numbers: bytes shown at most, nth output. */
export const childResult: Rule = ([call, operation, crossing], [bytesMax = 0, nth = 1]) => {
  const { id, name } = callOf(call);
  if (crossing === undefined)
    return toolMessage(id, name, { type: 'error-text', value: failureText(failureOf(operation)) });
  const envelope = readEnvelope(crossing);
  // probe: child-result-heading
  const heading = `Result from ${name} (status: ${envelope.status}).${errorWords(envelope)}${missingWords(envelope)}`;
  return toolMessage(id, name, {
    type: envelope.output === '' ? 'error-text' : 'text',
    value:
      envelope.output === ''
        ? heading
        : dataFrame(heading, shown(envelope.output, bytesMax, outputName(name, nth, 'txt'))),
  });
};

export const readEnvelope = (source: Resolved | undefined): Envelope => {
  if (source?.from !== 'crossing') throw new TypeError('the rule needs a crossing');
  return JSON.parse(source.content) as Envelope;
};

export const failureOf = (source: Resolved | undefined) => {
  if (source?.from !== 'operation') throw new TypeError('the rule needs an operation');
  const settled: Settled<Json> = source.settled;
  return settled.ok ? { code: 'crossing_refused' as const } : settled.failure;
};

/** Whether a text, framed as data, is longer than may be shown. */
export const isLong = (text: string, bytesMax: number): boolean =>
  Buffer.byteLength(text) + 2 * (text.match(lineBreak)?.length ?? 0) > bytesMax;

/** The text, or its preview when it is longer than may be shown. */
export const shown = (text: string, bytesMax: number, name: string): string =>
  isLong(text, bytesMax) ? preview(text, name, Math.min(previewBytesMax, bytesMax)) : text;

export const errorWords = ({ error }: Envelope): string =>
  error === null
    ? ''
    : ` Error (${error.class}): ${errorCatalogue[error.code].summary} ${errorCatalogue[error.code].suggestion}`;

const missingWords = ({ missing }: Envelope): string =>
  missing.length === 0 ? '' : ` Without: ${missing.join(', ')}.`;

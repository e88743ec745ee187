// Ids of answers, from which their runs can be found again, and times in OpenAI's unit.
import { CloisterError } from '#base';

export const completionId = (run: string): string => `chatcmpl-${run}`;
export const responseId = (run: string): string => `resp_${run}`;
export const messageId = (run: string): string => `msg_${run}`;
/** A response may hold several reasoning items. */
export const reasoningId = (run: string, index: number): string => `rs_${run}_${index}`;

/** Throws `run_unknown`. `field`: the field that holds the id, for the error. */
export const runFromResponseId = (id: string, field: string): string => runFromId(id, 'resp_', field);
/** The inverse of `responseId`. */
export const nameFromResponseId = (id: string): string => id.slice('resp_'.length);
/** The number of this answer within its run; null if the run has only one. */
export const nthFromResponseId = (id: string): number | null => {
  const nth = /_(?<nth>\d+)$/u.exec(nameFromResponseId(id))?.groups?.['nth'];
  return nth === undefined ? null : Number(nth);
};
export const runFromMessageId = (id: string, field: string): string => runFromId(id, 'msg_', field);
export const isReasoningId = (id: string): boolean => id.startsWith('rs_');
export const callItemId = (call: string): string => `fc_${call}`;
/** The inverse of `callItemId`. */
export const callFromItemId = (id: string): string => id.slice('fc_'.length);
export const isCallItemId = (id: string): boolean => id.startsWith('fc_');

export const epochSeconds = (ms: number): number => Math.floor(ms / 1000);

const runFromId = (id: string, prefix: string, field: string): string => {
  // A run that takes several requests numbers its answers.
  const run = id.slice(prefix.length).replace(/_\d+$/u, '');
  if (id.startsWith(prefix) && run.trim() !== '') return run;
  throw new CloisterError('run_unknown', `${field}: unknown id.`);
};

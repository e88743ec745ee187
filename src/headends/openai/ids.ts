// Names of answers that lead back to their runs, and times as OpenAI's clients read them.
import { CloisterError } from '#base';

export const completionId = (run: string): string => `chatcmpl-${run}`;
export const responseId = (run: string): string => `resp_${run}`;
export const messageId = (run: string): string => `msg_${run}`;
/** A response may hold several. */
export const reasoningId = (run: string, place: number): string => `rs_${run}_${place}`;

/** Throws `run_unknown`. `field`: where the id was given. */
export const runOfResponse = (id: string, field: string): string => runIn(id, 'resp_', field);
/** See `responseId`. */
export const nameOfResponse = (id: string): string => id.slice('resp_'.length);
/** Which of the answers of its run it is; null where the run has one only. */
export const nthOfResponse = (id: string): number | null => {
  const nth = /_(?<nth>\d+)$/u.exec(nameOfResponse(id))?.groups?.['nth'];
  return nth === undefined ? null : Number(nth);
};
export const runOfMessage = (id: string, field: string): string => runIn(id, 'msg_', field);
export const isReasoning = (id: string): boolean => id.startsWith('rs_');
export const callItemId = (call: string): string => `fc_${call}`;
export const isCallItem = (id: string): boolean => id.startsWith('fc_');

export const seconds = (ms: number): number => Math.floor(ms / 1000);

const runIn = (id: string, prefix: string, field: string): string => {
  // A run that took several requests has given an answer to each.
  const run = id.slice(prefix.length).replace(/_\d+$/u, '');
  if (id.startsWith(prefix) && run.trim() !== '') return run;
  throw new CloisterError('run_unknown', `${field}: no such id was given out here.`);
};

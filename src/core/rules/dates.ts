// Date variables in a prompt, in UTC.
import { isoTime, weekday } from '#base';

const dateVariables: Readonly<Record<string, (at: number) => string>> = {
  DATETIME: isoTime,
  DATE: (at) => isoTime(at).slice(0, 10),
  DAY: weekday,
  TIMESTAMP: (at) => String(Math.floor(at / 1_000)),
};

const variable = new RegExp(`\\$\\{(${Object.keys(dateVariables).join('|')})\\}`, 'gu');

export const fillDate = (prompt: string, at: number): string =>
  prompt.replace(variable, (_, name: string) => dateVariables[name]!(at));

/** Whether a prompt contains a date variable. */
export const usesDateVariables = (prompt: string): boolean => prompt.search(variable) >= 0;

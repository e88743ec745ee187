import type { VerifyIsolationOptions } from 'cloister/testkit';

/** The options in the call that a report prints to reproduce a difference: `verifyIsolation(workflow, { … })`. */
export const printedOptions = (again: string): VerifyIsolationOptions => {
  const [, options = ''] = /^await \w+\(workflow, (\{.*\})\)$/u.exec(again) ?? [];
  return JSON.parse(options.replaceAll(/(\w+):/gu, '"$1":')) as VerifyIsolationOptions;
};

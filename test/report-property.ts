// How a failing property is reported: as fast-check does it, with the command that repeats the failing case.
import { relative } from 'node:path';
import { defaultReportMessage } from 'fast-check';
import type { RunDetails } from 'fast-check';
import { expect } from 'vitest';
import { repeatCommand } from './test-seed.ts';

export const reportProperty = (details: RunDetails<unknown>): void => {
  if (!details.failed) return;
  const { testPath = '', currentTestName } = expect.getState();
  const command = repeatCommand({
    seed: details.seed,
    path: details.counterexamplePath,
    file: relative('.', testPath),
    ...(currentTestName === undefined ? {} : { title: currentTestName }),
  });
  throw new Error(`${defaultReportMessage(details)}\n\nRepeat: ${command}`, { cause: details.errorInstance });
};

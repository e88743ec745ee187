// The outcome of a run: its answer for people, all of it for programs.
import type { Outcome, RunOutcome } from '#contracts';
import type { Desk } from './desk.ts';
import { failureValue } from './error-value.ts';
import { block } from './text.ts';

export const tellAnswer = (outcome: Outcome, { world, output }: Desk): void => {
  if (world.stdout.isTTY === true) output.out.print('');
  // An answer that was asked for as JSON is JSON alone, for the program that reads it.
  if (outcome.data !== null) return output.out.print(JSON.stringify(outcome.data, null, 2));
  if (outcome.output !== '') output.out.print(block(outcome.output).trimEnd());
};

export const outcomeValue = ({ run, status, output, data, failure, spent, missing }: RunOutcome) => ({
  run,
  status,
  output,
  data,
  error: failure === null ? null : failureValue(failure),
  spent,
  missing,
});

import { publicFailure } from '#base';
import type { Envelope, Outcome } from '#contracts';

// probe: result-envelope
/** The part of an outcome that its caller may see: no failure details, no usage figures. */
export const resultEnvelope = (outcome: Outcome, caller: 'outside' | 'parent'): Envelope => {
  const { status, output, failure, missing, spawned } = outcome;
  return {
    status,
    output,
    error: failure === null ? null : publicFailure(failure),
    missing,
    ...spawnedFor(caller, spawned),
  };
};

/**
 * What spawned agents wrote for their parent is not for its own caller: no grant leads there. It hears of those that did not
 * finish, and nothing of the others, so that it does not depend on what their parent has read.
 */
const spawnedFor = (caller: 'outside' | 'parent', spawned: Outcome['spawned'] = []): Pick<Envelope, 'spawned'> => {
  if (caller === 'outside') return spawned.length === 0 ? {} : { spawned };
  // probe: envelope-spawned
  const named = spawned.flatMap(({ agent, status, why }) => (why === null ? [] : [{ agent, status }]));
  return named.length === 0 ? {} : { spawned: named };
};

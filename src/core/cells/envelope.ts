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
    ...(spawned === undefined ? {} : { spawned: caller === 'outside' ? spawned : withoutWords(spawned) }),
  };
};

/** What spawned agents wrote for their parent is not for its own caller: no grant leads there. */
const withoutWords = (spawned: NonNullable<Outcome['spawned']>): Envelope['spawned'] =>
  /* probe: envelope-spawned */ spawned.map(({ agent, status }) => ({ agent, status }));

import { publicFailure } from '#base';
import type { Envelope, Outcome } from '#contracts';

// probe: result-envelope
/** The part of an outcome that may leave its cell: no failure details, no usage figures. */
export const resultEnvelope = ({ status, output, failure, missing }: Outcome): Envelope => ({
  status,
  output,
  error: failure === null ? null : publicFailure(failure),
  missing,
});

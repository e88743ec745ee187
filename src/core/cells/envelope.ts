import { publicFailure } from '#base';
import type { Envelope, Outcome } from '#contracts';

// probe: result-envelope
/** What of an outcome may leave its cell: no detail of a failure, no figures. */
export const resultEnvelope = ({ status, output, failure, missing }: Outcome): Envelope => ({
  status,
  output,
  error: failure === null ? null : publicFailure(failure),
  missing,
});

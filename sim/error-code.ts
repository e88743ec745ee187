import { CloisterError } from '#base';

/** An error that is not in the catalogue is a defect. */
export const errorCode = (error: unknown): string => (error instanceof CloisterError ? error.code : 'defect');

/** Error codes for which a later attempt to resume may succeed. */
export const retryCodes: readonly string[] = [
  'run_owned',
  'run_lost',
  'run_unknown',
  'store_failed',
  'store_busy',
  'conversation_busy',
];

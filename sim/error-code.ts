import { CloisterError } from '#base';

/** An error that is not in the catalogue is a defect. */
export const errorCode = (error: unknown): string => (error instanceof CloisterError ? error.code : 'defect');

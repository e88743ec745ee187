import { CloisterError } from '#base';

/** What is not in the catalogue is a defect. */
export const codeOf = (error: unknown): string => (error instanceof CloisterError ? error.code : 'defect');

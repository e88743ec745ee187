export { fitWindow, oldTurns, perByteDefault, tokensIn } from './fit-window.ts';
export type { Room } from './fit-window.ts';
export { sharedIn, sharedOf, showGiven } from './given.ts';
export type { Request } from './segment.ts';
export { Window } from './window.ts';

export { estimateTokens, fitWindow } from './compact.ts';
export { makeSegment } from './segment.ts';
export { Window } from './window.ts';
export type { Request } from './segment.ts';

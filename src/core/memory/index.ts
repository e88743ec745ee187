export { Cell, shownBytesMax } from './cell.ts';
export { dropEarlierCalls, fitWindow, findOldTurns, defaultTokensPerByte, bytesToTokens } from './fit-window.ts';
export type { WindowRoom } from './fit-window.ts';
export { shareableContext, shareableInCrossing, shareablePrompt, showReceived } from './show-received.ts';
export type { ModelRequest } from './segment.ts';
export { ContextWindow } from './context-window.ts';

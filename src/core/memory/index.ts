export { fitWindow, oldTurns, perByteDefault, tokensIn } from './fit-window.ts';
export type { Room } from './fit-window.ts';
export { sharedIn, shareableMessages, showReceived } from './show-received.ts';
export type { ModelRequest } from './segment.ts';
export { ContextWindow } from './context-window.ts';

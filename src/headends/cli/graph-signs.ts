// The states of a task as a terminal shows them.
import type { TaskStatus } from '#contracts';
import type { Style } from './output.ts';

type Sign = { readonly unicode: string; readonly ascii: string; readonly style: Style; readonly word: string };

/** In the order of how much they matter to whoever watches. */
export const taskSigns: Readonly<Record<TaskStatus, Sign>> = {
  running: { unicode: '●', ascii: '*', style: 'cyan', word: 'running' },
  failed: { unicode: '✗', ascii: 'x', style: 'red', word: 'failed' },
  ready: { unicode: '○', ascii: 'o', style: 'bold', word: 'ready' },
  blocked: { unicode: '⊘', ascii: '!', style: 'yellow', word: 'blocked' },
  pending: { unicode: '·', ascii: '.', style: 'dim', word: 'waiting' },
  skipped: { unicode: '-', ascii: '-', style: 'yellow', word: 'skipped' },
  completed: { unicode: '✓', ascii: '+', style: 'green', word: 'done' },
};

export const statusesByWeight = Object.keys(taskSigns) as readonly TaskStatus[];

/** Lines that hold tasks of one layer together. */
export const brackets = {
  unicode: { only: '─', first: '┌', middle: '│', last: '└' },
  ascii: { only: '-', first: '/', middle: '|', last: '\\' },
};

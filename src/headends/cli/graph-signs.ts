// How a terminal shows the status of a task.
import type { TaskStatus } from '#contracts';
import type { Style } from './output.ts';

type Sign = { readonly unicode: string; readonly ascii: string; readonly style: Style; readonly word: string };

/** Ordered by how much they matter to a user who watches. */
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

/** Brackets that join the tasks of one layer. */
export const brackets = {
  unicode: { only: '─', first: '┌', middle: '│', last: '└' },
  ascii: { only: '-', first: '/', middle: '|', last: '\\' },
};

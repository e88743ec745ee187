// Parses `--at`: an operation of a cell, or the start of a cell.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { RunReport, TaskReport } from '#contracts';
import { listOperations, operationRef } from './shared/operations.ts';
import { resolveCell } from './shared/resolve-name.ts';
import { excerpt } from './shared/sanitize-text.ts';
import { UsageError } from './shared/errors.ts';

/** In the form that the runtime takes: `<cell>/<operation>` or `<cell>`, with the full cell id. A task id stands for its cell. */
export const resolvePlace = (report: RunReport, at: string, tasks: readonly TaskReport[] = []): string => {
  const [, name = '', op] = /^([^/]*)(?:\/(\d{1,9}))?$/u.exec(at) ?? [];
  if (name === '')
    throw new UsageError(`--at "${at}" is not a valid place`, 'use <cell>/<operation>, or <cell> for its start');
  const cell = resolveCell(report, name, tasks);
  if (op === undefined) return cell;
  checkOperation(report, cell, Number(op));
  return operationRef({ cell, op: Number(op) });
};

const shownMax = 30;

/** Not every operation has events, so the runtime checks numbers below the highest known one. */
const checkOperation = (report: RunReport, cell: CellId, op: number): void => {
  const operations = listOperations(report.events.filter((event) => event.cell === cell));
  if (operations.some((one) => one.op >= op)) return;
  const left = operations.length - shownMax;
  const lines = [
    ...(left > 0 ? [`… ${left} earlier ones`] : []),
    ...operations.slice(-shownMax).map((one) => `${operationRef(one)} ${excerpt(one.what, 50)}`),
  ];
  const has = lines.length === 0 ? 'it has none.' : ['it has:', ...lines].join('\n');
  throw new CloisterError('fork_invalid', `${cell} has no operation ${op}; ${has}`);
};

// What an audit found, in words.
import type { AuditReport, DurableEvent } from '#contracts';
import { newBoard, noteEvent } from './run-progress.ts';
import { refusalWords } from './event-line.ts';
import { count, plural } from './format-numbers.ts';
import type { Paint } from './output.ts';

/** Report and events must be harmless. */
export const auditLines = (report: AuditReport, events: readonly DurableEvent[], paint: Paint): readonly string[] => {
  const granted = report.refused === 0 ? 'all granted' : `${report.refused} refused`;
  const verdict = report.ok
    ? paint('green', 'ok')
    : paint('red', plural(Math.max(1, report.problems.length), 'problem'));
  return [
    [
      `${paint('bold', 'Audit:')} ${plural(report.crossings, 'crossing')}, ${granted}`,
      `${plural(report.prompts, 'prompt')}, ${count(report.promptBytes)} bytes`,
      `unattributed ${count(report.unattributedBytes)}`,
      verdict,
    ].join(' · '),
    ...refusalLines(events, paint),
    ...report.problems.map(({ code, where, message }) => `  ${paint('red', code)} ${where}: ${message}`),
  ];
};

/** Every refused crossing of a run: who to whom, what kind, and why. */
export const refusalLines = (events: readonly DurableEvent[], paint: Paint): readonly string[] => {
  const board = newBoard();
  for (const event of events) noteEvent(board, event);
  return events.flatMap((event) =>
    event.type === 'crossing-refused' ? [`  ${paint('yellow', refusalWords(event, board))}`] : [],
  );
};

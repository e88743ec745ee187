// Formats the findings of an audit.
import type { AuditReport, DurableEvent } from '#contracts';
import { applyEvent, count, newRunView, plural } from '#headends/run-view';
import { describeRefusal, describeRefusedCall } from './event-line.ts';
import type { Paint } from './output.ts';

/** Report and events must be sanitized. */
export const auditLines = (report: AuditReport, events: readonly DurableEvent[], paint: Paint): readonly string[] => {
  const granted = report.refused === 0 ? 'all granted' : `${report.refused} refused`;
  const verdict = report.ok
    ? paint('green', 'ok')
    : paint('red', plural(Math.max(1, report.problems.length), 'problem'));
  return [
    [
      `${paint('bold', 'Audit:')} ${plural(report.crossings, 'crossing')}, ${granted}`,
      `${plural(report.prompts, 'prompt')}, ${count(report.promptBytes)} bytes`,
      `${plural(report.unattributedBytes, 'byte')} unattributed`,
      verdict,
    ].join(' · '),
    ...refusalLines(events, paint),
    ...report.problems.map(({ code, where, message }) => `  ${paint('red', code)} ${where}: ${message}`),
  ];
};

/** Every refused crossing of a run (sender, receiver, kind and reason), and every refused call of an agent with the path to it. */
export const refusalLines = (events: readonly DurableEvent[], paint: Paint): readonly string[] => {
  const runView = newRunView();
  for (const event of events) applyEvent(runView, event);
  return events.flatMap((event) => {
    if (event.type === 'crossing-refused') return [`  ${paint('yellow', describeRefusal(event, runView))}`];
    const isRefusedCall = event.type === 'tool-end' && event.path !== undefined;
    return isRefusedCall ? [`  ${paint('yellow', describeRefusedCall(event))}`] : [];
  });
};

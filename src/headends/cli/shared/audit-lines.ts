// Formats the findings of an audit.
import type { AuditReport, DurableEvent, WorkspaceAudit } from '#contracts';
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
    ...problemLines(report.problems, paint),
  ];
};

/** The runs with problems, and what else is wrong in the workspace. Everything must be sanitized. */
export const workspaceAuditLines = (
  {
    workspace,
    runs,
    failed,
    besides,
  }: {
    readonly workspace: string;
    readonly runs: number;
    readonly failed: readonly AuditReport[];
    readonly besides: WorkspaceAudit;
  },
  paint: Paint,
): readonly string[] => {
  const { problems, leftovers } = besides;
  const all = [...failed.flatMap((report) => report.problems), ...problems];
  // A workspace that was mistyped must not look sound.
  const soundness = runs === 0 ? `there are none in ${workspace}` : 'all sound';
  const verdict =
    failed.length + problems.length === 0
      ? paint('green', 'ok')
      : paint('red', plural(Math.max(1, all.length), 'problem'));
  return [
    `${paint('bold', 'Audit:')} ${plural(runs, 'run')}, ${failed.length === 0 ? soundness : `${count(failed.length)} with problems`} · ${verdict}`,
    ...failed.flatMap(({ run, problems: own }) => [`run ${run}`, ...problemLines(own, paint)]),
    ...(problems.length === 0 ? [] : ['workspace', ...problemLines(problems, paint)]),
    ...leftoverLines(leftovers),
  ];
};

const problemLines = (problems: AuditReport['problems'], paint: Paint): readonly string[] =>
  problems.map(({ code, where, message }) => `  ${paint('red', code)} ${where}: ${message}`);

const leftoverNames = {
  owner: 'owner of a run without records',
  signals: 'queue of signals for a run without records',
  blob: 'stored file that no record names',
} as const;

/** They are counted: there may be many, and they do no harm. */
const leftoverLines = (leftovers: WorkspaceAudit['leftovers']): readonly string[] => {
  const kinds = Map.groupBy(leftovers, ({ kind }) => kind);
  return [...kinds].map(([kind, ones]) => `left over: ${count(ones.length)} × ${leftoverNames[kind]}`);
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

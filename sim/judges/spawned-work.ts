// Work of spawned agents is finished, or their parent is not `completed` and names them. What they wrote goes no further than to
// whoever asked for the run.
import type { CellId } from '#base';
import type { Envelope, Frame, RecordOf, Outcome } from '#contracts';
import type { RunHistory } from '../history.ts';
import { runFacts } from './facts.ts';
import type { CellFacts } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { agentPlans, hasMail, isExpired, mailName, walkMail } from './mail-walk.ts';
import type { MailCell, MailStep } from './mail-walk.ts';

const waitName = 'wait:spawned';

export const spawnedWork: Judge = {
  name: 'spawned work is finished or named',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      judgeWaits(run, () => void checks++, report);
      const cells = [...runFacts(run).cells.values()];
      for (const cell of cells) {
        const children = cells.filter(({ parent, birth }) => parent === cell && birth.spawned !== undefined);
        if (cell.outcome === null || children.length === 0) continue;
        checks++;
        judgeEnd(run, cell, report);
        for (const child of children) judgeChild(cell, cell.outcome, child, report);
      }
      for (const frame of run.frames) judgeWords(frame, report);
    }
    return checks;
  },
};

/** When such a wait ends by itself, nobody below works or has unread mail. */
const judgeWaits = (run: RunHistory, count: () => void, report: ReportProblem): void => {
  const idle = new Map<CellId, number>();
  walkMail(run, (step) => {
    const { frame, received } = step;
    const { record, cell } = frame;
    if (record.type === 'begin' && record.do === 'receive' && record.name === 'wait') idle.set(cell, record.op);
    if (record.type === 'settle' && idle.get(cell) === record.op) idle.delete(cell);
    if (received?.receive.name !== waitName || received.value === null) return;
    count();
    if (received.value.timedOut === true) return;
    for (const { birth, mailbox } of below(step, cell)) {
      if (!idle.has(birth.cell)) report(`${cell} to wait for ${birth.cell}, which works`, `frame ${frame.no}`);
      const unread = mailbox.filter((one) => !isExpired(one, frame.at));
      if (unread.length > 0) report(`${cell} to wait for ${birth.cell}, which has mail`, `frame ${frame.no}`);
    }
  });
};

const below = (step: MailStep, cell: CellId): readonly MailCell[] =>
  [...step.live.values()]
    .filter(({ birth }) => birth.parent === cell)
    .flatMap((child) => [child, ...below(step, child.birth.cell)]);

/** A session that answered, and shuts down agents then, has waited for them, for as long as its definition says at most. */
const judgeEnd = (run: RunHistory, { birth, operations, outcome, endedIn }: CellFacts, report: ReportProblem): void => {
  const rules = agentPlans(run).get(birth.agent)?.mail?.spawns;
  if (!rules) return report(`${birth.cell} to be one that may spawn`, 'it did');
  const answered = birth.spawned === undefined && (outcome!.status === 'completed' || outcome!.status === 'partial');
  const lastReply = Math.max(-1, ...operations.flatMap(({ attempt, settledIn }) => (attempt ? [settledIn] : [])));
  const closes = run.frames
    .slice(lastReply + 1, endedIn)
    .some(({ cell, record }) => cell === birth.cell && record.type === 'post' && hasAsked(record));
  const wait = operations.find(({ begin }) => begin.name === waitName);
  if (closes && answered && rules.onEnd === 'wait' && wait === undefined)
    report(`${birth.cell} to wait for its agents`, 'it shut them down');
  if (wait === undefined) return;
  if (rules.onEnd === 'stop' || birth.spawned !== undefined) report(`no wait of ${birth.cell}`, `${wait.begin.op}`);
  const ms = wait.begin.until! - run.frames[wait.beganIn]!.at;
  if (ms > Math.max(1, rules.waitMs)) report(`${birth.cell} to wait ${rules.waitMs} ms at most`, `${ms} ms`);
};

/** Whether agents were asked to finish. If all had ended, only the words that were not read are recorded. */
const hasAsked = ({ name, value }: RecordOf<'post'>): boolean =>
  name === 'mail:close' && (value as { readonly asked: readonly CellId[] } | undefined)?.asked.length !== 0;

/** An agent that never had work has nothing to finish. */
const hasFinished = ({ operations, outcome, goal }: CellFacts): boolean => {
  if (outcome === null || outcome.status === 'completed') return outcome !== null;
  return (
    outcome.status === 'cancelled' && goal === undefined && !operations.some(({ attempt }) => attempt !== undefined)
  );
};

const judgeChild = (parent: CellFacts, ended: Outcome, child: CellFacts, report: ReportProblem): void => {
  const { status, missing, spawned = [] } = ended;
  const name = mailName(child.birth);
  const entry = spawned.find(({ cell }) => cell === child.birth.cell);
  if (!hasFinished(child) && (status === 'completed' || !missing.includes(name) || !entry?.why))
    report(`${parent.birth.cell} to say that ${name} did not finish (${child.outcome?.status})`, JSON.stringify(ended));
  if (entry !== undefined && entry.output !== '' && !child.outcome?.output.startsWith(entry.output))
    report(`the words of ${name} in the outcome of ${parent.birth.cell}`, JSON.stringify(entry.output));
};

/** A result that crosses to a parent says who was spawned and how it ended, and nothing else of it. */
const judgeWords = ({ no, contents = [] }: Frame, report: ReportProblem): void => {
  for (const { kind, to, content } of contents) {
    if (kind !== 'result' || to === 'outside') continue;
    const { spawned = [] } = JSON.parse(content) as Envelope;
    for (const one of spawned)
      if (Object.keys(one).sort().join() !== 'agent,status')
        report(`only name and status of a spawned agent, for ${to}`, `frame ${no}: ${JSON.stringify(one)}`);
  }
};

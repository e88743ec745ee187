// Only permitted agents are spawned, within all limits. They end before their parent, and their parent gets their result.
import type { CellId } from '#base';
import type { Birth, Frame } from '#contracts';
import { runFacts } from './facts.ts';
import type { Judge, ReportProblem } from './judge.ts';
import { recordedArgs, hasMail, mailName, agentPlans, walkMail } from './mail-walk.ts';
import type { MailCell, MailStep } from './mail-walk.ts';
import type { RunHistory } from '../history.ts';

const minuteMs = 60_000;

export const spawns: Judge = {
  name: 'spawned agents respect limits and end',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const clocks = new Clocks();
      const startTimes = new Map<CellId, number[]>();
      walkMail(run, (step) => {
        const { frame } = step;
        const { record } = frame;
        // Somebody outside has no clock of the cell, only the run's.
        const isOutside = record.type === 'begin' && record.op < 0;
        const known = { startTimes, now: isOutside ? frame.at : clocks.of(frame.cell) };
        if (record.type === 'begin' && record.birth?.spawned !== undefined) {
          checks++;
          judgeSpawn(run, step, { ...known, birth: record.birth }, report);
        }
        if (record.type === 'post' && record.name === 'tool:spawn_agent') {
          checks++;
          judgeRefusal(run, step, known, report);
        }
        judgeEnd(step, report);
        clocks.add(frame);
      });
    }
    return checks;
  },
};

/** A cell's time is that of its latest settled operation, not counting children that it does not wait for. */
class Clocks {
  readonly #now = new Map<CellId, number>();
  of(cell: CellId): number {
    return this.#now.get(cell) ?? 0;
  }
  add({ cell, at, record }: Frame): void {
    if (record.type === 'post' || (record.type === 'settle' && record.ended === undefined)) this.#now.set(cell, at);
  }
}

/** When a cell started its children, by its own time. */
type SpawnHistory = { readonly startTimes: Map<CellId, number[]>; readonly now: number };

const childrenOf = ({ live }: MailStep, parent: CellId): readonly MailCell[] =>
  [...live.values()].filter(({ birth }) => birth.parent === parent && birth.spawned !== undefined);

type NewSpawn = SpawnHistory & { readonly birth: Birth };

const judgeSpawn = (
  run: RunHistory,
  step: MailStep,
  { startTimes, now, birth }: NewSpawn,
  report: ReportProblem,
): void => {
  const { frame, live, ended } = step;
  const parent = live.get(frame.cell);
  const rules = parent && agentPlans(run).get(parent.birth.agent)?.mail?.spawns;
  const where = `${birth.cell}, created in frame ${frame.no}`;
  if (parent === undefined || !rules) return report(`${where}, to have a parent that may spawn it`, frame.cell);
  const before = (startTimes.get(frame.cell) ?? []).filter((at) => at > now - minuteMs);
  startTimes.set(frame.cell, [...before, now]);
  const alive = childrenOf(step, frame.cell).length;
  if (alive >= rules.children)
    report(`at most ${rules.children} children of ${frame.cell} at once`, `${where}, is one more`);
  if (before.length >= rules.perMinute)
    report(`at most ${rules.perMinute} spawns a minute by ${frame.cell}`, `${where}, is one more`);
  const depth = depthFor(run, step, frame.cell);
  if (birth.depth > depth) report(`agents of ${frame.cell} at most ${depth} deep`, `${where}, is ${birth.depth} deep`);
  const known = [...rules.agents, rules.template].map((one) => one?.name);
  if (!known.includes(birth.agent) && !(rules.self && birth.agent === parent.birth.agent))
    report(`${frame.cell} to spawn only permitted agents`, `${where}, is a ${birth.agent}`);
  for (const other of [...live.values(), ...ended.values()])
    if (other.birth.parent === frame.cell && other.birth.spawned && mailName(other.birth) === mailName(birth))
      report(`a unique name for ${where}`, `${other.birth.cell} is also called ${mailName(birth)}`);
};

/** The maximum depth of a cell's children: never deeper than its own parent allows. */
const depthFor = (run: RunHistory, step: MailStep, cell: CellId): number => {
  const birth = step.live.get(cell)?.birth;
  const own = (birth && agentPlans(run).get(birth.agent)?.mail?.spawns?.depth) ?? Infinity;
  const isSpawned = birth?.spawned !== undefined && birth.parent !== null;
  return isSpawned ? Math.min(own, depthFor(run, step, birth.parent)) : own;
};

/** A limit refuses only what exceeds it. */
const judgeRefusal = (
  run: RunHistory,
  step: MailStep,
  { startTimes, now }: SpawnHistory,
  report: ReportProblem,
): void => {
  const { frame, live } = step;
  if (frame.record.type !== 'post' || !frame.record.ok) return;
  const { text = '{}' } = (frame.record.value ?? {}) as { readonly text?: string };
  const { error } = JSON.parse(text) as { readonly error?: { readonly code: string; readonly message: string } };
  const parent = live.get(frame.cell);
  const rules = parent && agentPlans(run).get(parent.birth.agent)?.mail?.spawns;
  if (!rules || error === undefined) return;
  const lately = (startTimes.get(frame.cell) ?? []).filter((at) => at > now - minuteMs).length;
  const isTrue: Readonly<Record<string, boolean>> = {
    SPAWN_DEPTH: parent.birth.depth >= depthFor(run, step, frame.cell),
    SPAWN_RATE: lately >= rules.perMinute,
    SPAWN_LIMIT: childrenOf(step, frame.cell).length >= rules.children || isSpawnBudgetSpent(run, frame),
  };
  if (isTrue[error.code] === false)
    report(
      `${frame.cell} to spawn ${String(recordedArgs(frame.record.about)?.['agent_id'])}`,
      `frame ${frame.no}: ${error.message}`,
    );
};

/** Whether the spawn budget of the cell or of one above it is used up. */
const isSpawnBudgetSpent = (run: RunHistory, { cell, no }: Frame): boolean => {
  const { cells } = runFacts(run);
  for (let one = cells.get(cell) ?? null; one !== null; one = one.parent) {
    const cap = one.birth.caps.spawns ?? Infinity;
    const line = one;
    const used = [...cells.values()].filter((other) => other.createdIn < no && isBelow(other, line)).length;
    if (used >= cap) return true;
  }
  return false;
};

type AncestorLink = { readonly parent: AncestorLink | null };

const isBelow = (cell: AncestorLink, above: AncestorLink): boolean =>
  cell.parent !== null && (cell.parent === above || isBelow(cell.parent, above));

const judgeEnd = (step: MailStep, report: ReportProblem): void => {
  const { frame, live, deliveries } = step;
  const { record, cell } = frame;
  const over = record.type === 'close' ? cell : record.type === 'settle' ? record.ended?.cell : undefined;
  if (over === undefined) return;
  for (const { birth } of childrenOf(step, over)) report(`${birth.cell} to end before ${over}`, `frame ${frame.no}`);
  const { birth } = live.get(over) ?? {};
  if (birth?.spawned === undefined || birth.parent === null || record.type !== 'settle') return;
  const told = deliveries.filter(({ kind, from, to }) => kind === 'result' && from === over && to === cell).length;
  if (told !== (record.ok ? 1 : 0) || birth.parent !== cell)
    report(
      `the result of ${over} in the mailbox of ${birth.parent}, once`,
      `frame ${frame.no} delivers it ${told} times to ${cell}`,
    );
};

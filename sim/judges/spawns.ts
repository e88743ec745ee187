// Who is started is one that may be, within every limit; it ends before its parent does, and its parent is told.
import type { CellId } from '#base';
import type { Birth, Frame } from '#contracts';
import { factsOf } from './facts.ts';
import type { Judge, Say } from './judge.ts';
import { argsOf, hasMail, nameOf, plansOf, walkMail } from './mail-walk.ts';
import type { Resident, Step } from './mail-walk.ts';
import type { RunHistory } from '../history.ts';

const minuteMs = 60_000;

export const spawns: Judge = {
  name: 'spawned within limits, and ended',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs) {
      if (!hasMail(run)) continue;
      const clocks = new Clocks();
      const born = new Map<CellId, number[]>();
      walkMail(run, (step) => {
        const { frame } = step;
        const { record } = frame;
        const known = { born, now: clocks.of(frame.cell) };
        if (record.type === 'begin' && record.birth?.spawned !== undefined) {
          checks++;
          judgeBirth(run, step, { ...known, birth: record.birth }, say);
        }
        if (record.type === 'post' && record.name === 'tool:spawn_agent') {
          checks++;
          judgeRefusal(run, step, known, say);
        }
        judgeEnd(step, say);
        clocks.add(frame);
      });
    }
    return checks;
  },
};

/** The time of a cell is that of the newest of its operations to settle; of those that it does not wait for, none counts. */
class Clocks {
  readonly #now = new Map<CellId, number>();
  of(cell: CellId): number {
    return this.#now.get(cell) ?? 0;
  }
  add({ cell, at, record }: Frame): void {
    if (record.type === 'post' || (record.type === 'settle' && record.ended === undefined)) this.#now.set(cell, at);
  }
}

/** When those that a cell has started were born, by its own time. */
type Known = { readonly born: Map<CellId, number[]>; readonly now: number };

const childrenOf = ({ living }: Step, parent: CellId): readonly Resident[] =>
  [...living.values()].filter(({ birth }) => birth.parent === parent && birth.spawned !== undefined);

type Newborn = Known & { readonly birth: Birth };

const judgeBirth = (run: RunHistory, step: Step, { born, now, birth }: Newborn, say: Say): void => {
  const { frame, living, ended } = step;
  const parent = living.get(frame.cell);
  const rules = parent && plansOf(run).get(parent.birth.agent)?.mail?.spawns;
  const where = `${birth.cell}, born in frame ${frame.no}`;
  if (parent === undefined || !rules) return say(`${where}, to have a parent that may start it`, frame.cell);
  const before = (born.get(frame.cell) ?? []).filter((at) => at > now - minuteMs);
  born.set(frame.cell, [...before, now]);
  const alive = childrenOf(step, frame.cell).length;
  if (alive >= rules.children)
    say(`at most ${rules.children} children of ${frame.cell} at once`, `${where}, is one more`);
  if (before.length >= rules.perMinute)
    say(`at most ${rules.perMinute} a minute of ${frame.cell}`, `${where}, is one more`);
  const depth = depthFor(run, step, frame.cell);
  if (birth.depth > depth) say(`agents of ${frame.cell} at most ${depth} deep`, `${where}, is ${birth.depth} deep`);
  const known = [...rules.agents, rules.template].map((one) => one?.name);
  if (!known.includes(birth.agent) && !(rules.self && birth.agent === parent.birth.agent))
    say(`${frame.cell} to start only what it may`, `${where}, is a ${birth.agent}`);
  for (const other of [...living.values(), ...ended.values()])
    if (other.birth.parent === frame.cell && other.birth.spawned && nameOf(other.birth) === nameOf(birth))
      say(`a name of its own for ${where}`, `${other.birth.cell} is called ${nameOf(birth)} too`);
};

/** A limit refuses only what passes it. */
/** How deep a cell may start others: no deeper than the one that started it. */
const depthFor = (run: RunHistory, step: Step, cell: CellId): number => {
  const birth = step.living.get(cell)?.birth;
  const own = (birth && plansOf(run).get(birth.agent)?.mail?.spawns?.depth) ?? Infinity;
  const isSpawned = birth?.spawned !== undefined && birth.parent !== null;
  return isSpawned ? Math.min(own, depthFor(run, step, birth.parent)) : own;
};

const judgeRefusal = (run: RunHistory, step: Step, { born, now }: Known, say: Say): void => {
  const { frame, living } = step;
  if (frame.record.type !== 'post' || !frame.record.ok) return;
  const { text = '{}' } = (frame.record.value ?? {}) as { readonly text?: string };
  const { error } = JSON.parse(text) as { readonly error?: { readonly code: string; readonly message: string } };
  const parent = living.get(frame.cell);
  const rules = parent && plansOf(run).get(parent.birth.agent)?.mail?.spawns;
  if (!rules || error === undefined) return;
  const lately = (born.get(frame.cell) ?? []).filter((at) => at > now - minuteMs).length;
  const isTrue: Readonly<Record<string, boolean>> = {
    SPAWN_DEPTH: parent.birth.depth >= depthFor(run, step, frame.cell),
    SPAWN_RATE: lately >= rules.perMinute,
    SPAWN_LIMIT: childrenOf(step, frame.cell).length >= rules.children || isSpent(run, frame),
  };
  if (isTrue[error.code] === false)
    say(
      `${frame.cell} to start ${String(argsOf(frame.record.about)?.['agent_id'])}`,
      `frame ${frame.no}: ${error.message}`,
    );
};

/** Whether an account above allows no more children. */
const isSpent = (run: RunHistory, { cell, no }: Frame): boolean => {
  const { cells } = factsOf(run);
  for (let one = cells.get(cell) ?? null; one !== null; one = one.parent) {
    const cap = one.birth.caps.spawns ?? Infinity;
    const line = one;
    const used = [...cells.values()].filter((other) => other.bornIn < no && isBelow(other, line)).length;
    if (used >= cap) return true;
  }
  return false;
};

type Line = { readonly parent: Line | null };

const isBelow = (cell: Line, above: Line): boolean =>
  cell.parent !== null && (cell.parent === above || isBelow(cell.parent, above));

const judgeEnd = (step: Step, say: Say): void => {
  const { frame, living, letters } = step;
  const { record, cell } = frame;
  const over = record.type === 'close' ? cell : record.type === 'settle' ? record.ended?.cell : undefined;
  if (over === undefined) return;
  for (const { birth } of childrenOf(step, over)) say(`${birth.cell} to end before ${over}`, `frame ${frame.no}`);
  const { birth } = living.get(over) ?? {};
  if (birth?.spawned === undefined || birth.parent === null || record.type !== 'settle') return;
  const told = letters.filter(({ kind, from, to }) => kind === 'result' && from === over && to === cell).length;
  if (told !== (record.ok ? 1 : 0) || birth.parent !== cell)
    say(
      `the end of ${over} in the box of ${birth.parent}, once`,
      `frame ${frame.no} brings it ${told} times to ${cell}`,
    );
};

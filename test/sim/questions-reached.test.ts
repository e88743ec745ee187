// What the seeds with questions really reach: every depth, several questions at once, crashes between the records of a marked call.
import { expect, test } from 'vitest';
import { planSeed } from '../../sim/workload.ts';
import { Random } from '../../sim/random.ts';
import { runSeed } from '../../sim/index.ts';
import type { History } from '../../sim/index.ts';

const seedsMax = 4_000;

const asks = (seed: number): boolean =>
  planSeed(new Random(`seed ${seed}`).fork('plan')).runs.some(({ people }) => people !== null);

/** What happened in a seed, of what is to be reached. */
const reachedIn = ({ runs, answers }: History): readonly string[] =>
  runs.flatMap(({ frames, run }) => {
    const births = new Map(
      frames.flatMap(({ record }) =>
        'birth' in record && record.birth ? [[record.birth.cell, record.birth] as const] : [],
      ),
    );
    const open = new Map<string, Set<number>>();
    const seen: string[] = [];
    let resumed = false;
    for (const { cell, record } of frames) {
      if (record.type === 'resume') resumed = true;
      if (record.type === 'ruling' && resumed && open.get(cell)?.has(record.op) !== true)
        seen.push('answered after a crash');
      if (record.type === 'settle') open.get(cell)?.delete(record.op);
      if (record.type === 'resume') open.clear();
      if (record.type !== 'begin' || record.do !== 'ask') continue;
      const birth = births.get(cell)!;
      open.set(cell, (open.get(cell) ?? new Set()).add(record.op));
      seen.push(`asked at depth ${birth.depth}`, `${open.get(cell)!.size} at once in a cell`);
      if (birth.spawned !== undefined) seen.push('asked by a spawned agent');
      if (birth.task?.part === 'task') seen.push('asked by a member of a team');
    }
    for (const { record } of frames) {
      if (record.type !== 'settle' || record.value === null || typeof record.value !== 'object') continue;
      if ('remembered' in record.value) seen.push('covered by an earlier answer');
      if ('expired' in record.value) seen.push('expired');
    }
    const people = new Map<string, number>();
    for (const { cell, record } of frames)
      if (record.type === 'ruling') people.set(`${cell}/${record.op}`, (people.get(`${cell}/${record.op}`) ?? 0) + 1);
    seen.push(...[...people.values()].map((count) => `${count} answers to a question`));
    for (const { told, run: of } of answers)
      if (of === run && told !== null) seen.push('code' in told ? `refused: ${told.code}` : `taken: ${told.state}`);
    for (const { told, run: of, elsewhere } of answers)
      if (of === run && elsewhere && told !== null && 'state' in told) seen.push(`taken elsewhere: ${told.state}`);
    return seen;
  });

test('the seeds ask at every depth, four at once, and crash before every record of a marked call', async () => {
  const missing = new Set([
    'asked at depth 0',
    'asked at depth 1',
    'asked at depth 2',
    'asked by a spawned agent',
    'asked by a member of a team',
    '4 at once in a cell',
    'answered after a crash',
    'covered by an earlier answer',
    'expired',
    'taken: allowed',
    'taken: denied',
    'refused: question_answered',
    'refused: question_changed',
    'refused: question_unknown',
    'refused: answer_invalid',
    '3 answers to a question',
    'taken: waiting',
    'taken elsewhere: allowed',
    'taken elsewhere: denied',
    'taken elsewhere: waiting',
    'taken elsewhere: stored',
    'run: resumed for an answer',
    'signal: send again',
    'signal: cancel',
    'signal: finish',
    'crash at: put signal',
    'crash at: signal stored',
    'crash at: remove signal',
    'crash at: signal removed',
    'crash at: append ask',
    'crash at: append ruling',
    'crash at: append answered',
    'crash at: append call',
  ]);
  for (let seed = 1; seed < seedsMax && missing.size > 0; seed++) {
    if (!asks(seed)) continue;
    const { history, faults } = await runSeed(seed, { keepHistory: true });
    for (const one of [...reachedIn(history!), ...Object.keys(faults)]) missing.delete(one);
  }
  expect([...missing]).toEqual([]);
});

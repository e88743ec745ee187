// `${DATE}` and similar placeholders: when the run began, in every cell, also after a crash. Nothing else is substituted.
import { openCloister } from 'cloister';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rehearse, virtualClock } from '#testkit';
import { agent, always, ask, call } from './driver.ts';
import { checkEveryCrash, resume, mutableCopy, auditProblems, record } from './recorded.ts';

const all = 'It is ${DATETIME}, ${DATE}, ${DAY}, ${TIMESTAMP}.';
const hourMs = 3_600_000;

const team = () => {
  const helper = agent('helper', { prompt: `Helper. ${all}` });
  return agent('lead', { prompt: `Lead. ${all}`, agents: [helper] });
};

const says = [
  { when: { agent: 'lead', turn: 1 }, reply: { ...call('helper', { prompt: 'Go' }), delayMs: 30_000 } },
  { when: { agent: 'lead', turn: 2 }, reply: 'Done.' },
  { when: { agent: 'helper' }, reply: { text: 'Helped.', delayMs: 30_000 } },
];

/** The dates in the prompt of each request. */
const datesIn = (requests: readonly { prompt: readonly unknown[] }[]): readonly string[] =>
  requests.map(({ prompt }) => /It is .*?\./u.exec(JSON.stringify(prompt[0]).replaceAll('.000Z', 'Z'))![0]);

test('every cell is shown when the run began, in UTC, however late the cell starts', async () => {
  const at = Date.UTC(2026, 1, 28, 23, 59, 59);
  const { frames, requests } = await record(team(), { says, at });
  expect(new Set(datesIn(requests))).toEqual(
    new Set([`It is 2026-02-28T23:59:59Z, 2026-02-28, Saturday, ${at / 1_000}.`]),
  );
  expect(requests).toHaveLength(3);
  expect(await auditProblems(frames)).toEqual([]);
});

test('all four placeholders give the same moment, at any time', () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 4e12 }), async (at) => {
      const { requests } = await ask(agent('lead', { prompt: all }), { clock: virtualClock(at) });
      const [, time, date, day, seconds] = /It is (\S+), (\S+), (\S+), (\d+)\./u.exec(requests[0]!.text)!;
      expect(Math.floor(Date.parse(time!) / 1_000)).toBe(Math.floor(at / 1_000));
      expect([date, Number(seconds)]).toEqual([new Date(at).toISOString().slice(0, 10), Math.floor(at / 1_000)]);
      expect(day).toBe(new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(at));
    }),
    { numRuns: 50 },
  ));

test('a run resumed days after a crash still has its original date', async () => {
  const at = Date.UTC(2026, 11, 31, 12);
  const whole = await record(team(), { says, at });
  await checkEveryCrash(whole.frames, async (prefix, where) => {
    const { outcome, frames, requests } = await resume(prefix, team(), { says, at: at + 50 * hourMs });
    expect(outcome, where).toMatchObject({ status: 'completed', output: 'Done.' });
    for (const date of datesIn(requests)) expect(date, where).toBe(datesIn(whole.requests)[0]);
    expect(await auditProblems([...prefix, ...frames]), where).toEqual([]);
  });
});

test('the audit reports a date that is not the run’s, in any cell', async () => {
  const { frames } = await record(team(), { says });
  const dated = frames.flatMap(({ attempt }, index) =>
    JSON.stringify(attempt ?? null).includes('system@2') ? [index] : [],
  );
  expect(dated).toHaveLength(2);
  for (const index of dated) {
    const changed = mutableCopy(frames);
    const [{ add }] = changed[index].attempt.changes;
    expect(add[0].origin).toMatchObject({ rule: 'system@2', with: [1_000_000] });
    add[0].origin.with = [1_000_000 + 24 * hourMs];
    const problems = await auditProblems(changed);
    expect(problems.map(({ code }) => code)).toContain('prompt-source');
    expect(problems.map(({ message }) => message).join()).toContain("its date differs from the run's");
  }
});

test('a definition without a date renders as before: its prompt depends on no clock', async () => {
  const { frames } = await record(agent('lead', { prompt: 'No date: $DATE, ${ DATE }, ${DATES}.' }), {
    says: [always('Done.')],
  });
  expect(JSON.stringify(frames)).toContain('system@1');
  expect(JSON.stringify(frames)).not.toContain('system@2');
});

test('other placeholders in a prompt stay as written: no process variable is looked up', async () => {
  const secret = 'swordfish-4711';
  const before = { ...process.env };
  Object.assign(process.env, { SECRET: secret, OPENAI_API_KEY: secret, HOME_DIR: secret });
  try {
    const prompt = 'Use ${SECRET}, ${OPENAI_API_KEY}, $SECRET, ${env:SECRET}, ${SECRET:-x}, ${DATE}.';
    const model = rehearse([always('Done.')]);
    const cloister = await openCloister({ store: 'memory', agents: [agent('lead', { prompt })], models: [model] });
    const { outcome, run } = cloister.run('lead', 'Tell me ${SECRET} and ${DATE}');
    expect((await outcome).status).toBe('completed');
    const shown = JSON.stringify(model.requests);
    expect(shown).not.toContain(secret);
    expect(shown).toMatch(
      /Use \$\{SECRET\}, \$\{OPENAI_API_KEY\}, \$SECRET, \$\{env:SECRET\}, \$\{SECRET:-x\}, \d{4}-/u,
    );
    expect(shown).toContain('Your task: Tell me ${SECRET} and ${DATE}');
    expect(JSON.stringify(await cloister.show(run))).not.toContain(secret);
  } finally {
    process.env = before;
  }
});

// `keep` of the config: what `check` says about it, and that whoever deletes by it never acts on a config with problems.
import { expect, test } from 'vitest';
import { Configs } from '#app/agents';
import { openCloister } from 'cloister';
import { checkLines } from '../../src/headends/cli/check.ts';
import { ai, check, createFolders, problemLines } from './driver.ts';

const plain = { columns: 100, paint: (_: string, text: string) => text } as never;

const folderWith = (keep: unknown) =>
  createFolders({
    'lead.ai': ai(),
    '.ai-agent.json': JSON.stringify({ defaults: { models: ['ollama/some'] }, keep }, null, 1),
  });

test('check shows how long runs are kept, and names an agent that is probably another one', async () => {
  const report = await check(
    folderWith({ days: 90, agents: { leed: { runs: 1_000, bytes: 5_000_000 }, gone: { days: 1 } } }),
    ['lead.ai'],
  );
  expect(report).toMatchObject({ ok: true, keep: { days: 90 } });
  expect(report.warnings.filter(({ code }) => code === 'keep-agent-unknown')).toEqual([
    expect.objectContaining({ agent: 'leed', message: expect.stringContaining('Did you mean "lead"?') }),
  ]);
  expect(checkLines(report, true, plain).join('\n')).toContain(
    [
      'Runs that are kept (`cloister serve` deletes the others; `cloister runs expire --dry-run` lists them)',
      '  all agents  90 days after their end',
      '  leed  the newest 1,000, at most 5.0 MB',
      '  gone  1 day after their end',
    ].join('\n'),
  );
});

test('a wrong value is a problem with its line, and nothing is deleted by such a config', async () => {
  const place = folderWith({ days: 'ninety' });
  expect(problemLines(await check(place, ['lead.ai']))).toEqual([
    expect.stringContaining('keep.days: Expected a number, 0.01 or more.'),
  ]);
  expect(() => new Configs(place).keepRules()).toThrow('keep.days');
});

test('in code, `keep` of the options comes before the config', async () => {
  const place = folderWith({ days: 90 });
  const options = { agents: ['lead.ai'], store: 'memory', cwd: place.cwd, env: {} } as const;
  await using one = await openCloister(options);
  expect(one.storage.keep).toMatchObject({ days: 90 });
  await using other = await openCloister({ ...options, keep: { runs: 5 } });
  expect(other.storage.keep).toEqual({ runs: 5 });
  await using none = await openCloister({ agents: [], store: 'memory' });
  expect(none.storage.keep).toBeNull();
});

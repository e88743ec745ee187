// `cloister studio` as users run it: a real process, with and without agents.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cloister, newFolder, startCloister } from './driver.ts';

type Serving = { readonly url: string; readonly token: string; readonly link: string; readonly agents: string[] };

/** Nothing of the user's own home folder. */
const home = newFolder();

const openStudio = async (cwd: string, args: readonly string[] = []) => {
  const studio = startCloister(['studio', '--json', ...args], { cwd, env: { HOME: home } });
  await studio.printed(/"type":"serving".*\n/u);
  const serving = JSON.parse(studio.output().stdout.split('\n', 1)[0]!) as Serving;
  const ask = async (path: string, body?: object) => {
    const response = await fetch(serving.url + path, {
      headers: { authorization: `Bearer ${serving.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as any };
  };
  return { ...serving, studio, ask };
};

test('without agents it shows the runs of the command line; with the agents of the folder it chats, and finds its conversation again', async () => {
  const cwd = newFolder();
  const empty = await openStudio(cwd);
  expect(empty.agents).toEqual([]);
  expect((await empty.ask('/v1/runs')).body).toEqual({ runs: [], more: false, next: null });
  expect((await empty.ask('/v1/me')).body).toMatchObject({ name: 'studio', operator: true, agents: 0 });
  empty.studio.kill('SIGINT');
  expect((await empty.studio.ended).code).toBe(0);

  expect((await cloister(['init', '.'], { cwd })).code).toBe(0);
  expect((await cloister(['run', 'lead.ai', 'Backups'], { cwd })).code).toBe(0);
  const first = await openStudio(cwd);
  expect(first.agents).toContain('lead');
  expect(first.link).toBe(`${first.url}/#token=${first.token}`);
  const page = await fetch(`${first.url}/`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>Cloister</title>')]);
  expect((await first.ask('/v1/runs')).body.runs).toMatchObject([{ goal: 'Backups', caller: null }]);
  const asked = await first.ask('/v1/lead', { input: 'And restores?', conversation: 'safety' });
  expect(asked.body.status).toBe('completed');

  // A second one takes the next port, and does not disturb the first.
  const second = await openStudio(cwd);
  expect(second.url).not.toBe(first.url);
  for (const { studio } of [first, second]) {
    studio.kill('SIGINT');
    expect((await studio.ended).code).toBe(0);
  }
  const again = await openStudio(cwd, ['lead.ai', '--port', '0']);
  expect(again.agents).toEqual(['lead']);
  const next = await again.ask('/v1/lead', { input: 'Once more.', conversation: 'safety' });
  const { messages } = (await again.ask(`/v1/runs/${next.body.run}/messages`)).body;
  expect(messages.map(({ text }: any) => text)).toContain('And restores?');
  again.studio.kill('SIGTERM');
  expect((await again.studio.ended).code).toBe(0);
});

test('agents that cannot be used are left out, with the reason; one that was named is an error', async () => {
  const cwd = newFolder();
  expect((await cloister(['init', '.'], { cwd })).code).toBe(0);
  writeFileSync(join(cwd, 'broken.ai'), '---\ndescription: Breaks.\nmodels: [nowhere/none]\n---\nWork.\n');
  const { studio, agents } = await openStudio(cwd);
  expect(agents).toContain('lead');
  expect(agents).not.toContain('broken');
  await studio.printed(/note: 1 of the \d agents here cannot be used: .*nowhere/u);
  studio.kill('SIGINT');
  expect((await studio.ended).code).toBe(0);
  const named = await cloister(['studio', 'broken.ai', '--json'], { cwd, env: { HOME: home } });
  expect([named.code === 0, named.stdout + named.stderr]).toEqual([false, expect.stringContaining('nowhere')]);
});

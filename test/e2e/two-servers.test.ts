// Two servers of one workspace as users run them: a stream at the one continues when the other, which works on the run, is killed.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { cloister, cloisterJson, command, fileAppears, newFolder, team } from './driver.ts';

const serve = async (cwd: string) => {
  const args = [command, 'serve', '--http', '0', '--json', '--agent', team, '--token-file', 'tokens.json'];
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stdout })) {
    const { type, url } = JSON.parse(line) as { type: string; url?: string };
    if (type !== 'serving') continue;
    child.stdout.resume();
    return { child, url: url! };
  }
  throw new Error('The server did not start.');
};

test('no event is missing or comes twice across the death of the server that works on the run', async () => {
  const cwd = newFolder();
  const { token, entry } = await cloisterJson(['token', 'ann', '--json'], { cwd });
  writeFileSync(join(cwd, 'tokens.json'), JSON.stringify({ tokens: [entry] }));
  const [first, second] = [await serve(cwd), await serve(cwd)];
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ input: 'Go.', wait: false });
  const { run } = (await (await fetch(`${first.url}/v1/gated`, { method: 'POST', headers, body })).json()) as any;
  const stream = await fetch(`${second.url}/v1/runs/${run}/events`, {
    headers: { ...headers, accept: 'text/event-stream' },
  });
  const text: string[] = [];
  const reading = (async () => {
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) text.push(chunk);
  })();
  await fileAppears(join(cwd, 'entered'));
  await expect.poll(() => text.join(''), { timeout: 20_000 }).toContain('"tool":"gate"');
  first.child.kill('SIGKILL');
  writeFileSync(join(cwd, 'go'), '');
  await reading;
  const events = text.join('').matchAll(/^event: (.*)\n(?:id: (.*)\n)?/gmu);
  const all = [...events].map(([, type, id]) => ({ type, id }));
  const ids = all.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const { events: recorded } = await cloisterJson(['show', run, '--json'], { cwd });
  expect(ids).toEqual((recorded as { id: string }[]).map(({ id }) => id));
  expect(all.at(-1)!.type).toBe('outcome');
  expect(text.join('')).toContain('"status":"completed"');
  expect((await cloister(['audit', run], { cwd })).code).toBe(0);
});

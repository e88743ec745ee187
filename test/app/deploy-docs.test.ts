// The unit and the container file in docs/SERVING.md start the server with options that it has.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cloister } from '../e2e/driver.ts';

const page = readFileSync(new URL('../../docs/SERVING.md', import.meta.url), 'utf8');
const blockOf = (language: string): string => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'su').exec(page)![1]!;

test('every option of the systemd unit and of the container is one of serve', async () => {
  const { stdout } = await cloister(['serve', '--help']);
  const [start] = /^ExecStart=.*$/mu.exec(blockOf('ini'))!;
  const [command] = /^CMD .*$/mu.exec(blockOf('dockerfile'))!;
  const options = `${start} ${command}`.match(/--[a-z-]+/gu)!;
  expect(options.length).toBeGreaterThan(6);
  for (const option of options) expect(stdout).toMatch(new RegExp(`${option}\\b`, 'u'));
});

test('the unit gives the server more time to stop than the server gives its runs', () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/mu.exec(blockOf('ini'))![1]);
  expect(seconds).toBeGreaterThan(30);
});

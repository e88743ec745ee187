// `cloister slack manifest`: what is asked for, and what is printed.
import { expect, test } from 'vitest';
import { cli } from './driver.ts';

test('a manifest is printed as JSON, to paste', async () => {
  for (const more of [[], ['--json']]) {
    const { code, stdout } = await cli(['slack', 'manifest', '--name', 'Desk', ...more]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ display_information: { name: 'Desk', url: null, config: null } });
  }
  const { stdout } = await cli(['slack', 'manifest', '--url', 'https://agents.example.com', '--config', 'c.json']);
  const given = { name: 'Cloister', url: 'https://agents.example.com', config: 'c.json' };
  expect(JSON.parse(stdout)).toEqual({ display_information: given });
});

test.for([
  ['--name', ''],
  ['--name', 'x'.repeat(36)],
  ['--url', 'http://agents.example.com'],
  ['--url', 'agents'],
])('%s %j is refused', async (option) => {
  const { code, stderr } = await cli(['slack', 'manifest', ...option]);
  expect(code).toBe(4);
  expect(stderr).toContain('It must');
});

import * as cloister from 'cloister';
import { expect, test } from 'vitest';
import { testRuns, testSeed } from '../test-seed.ts';
import { cellNames } from './agent-folder.ts';
import { stdioServersFor } from './files-stdio-servers.ts';
import { watchTeam } from './files-run.ts';
import { compareTeams, filesDifferenceText } from './files-two-run.ts';
import type { Groups } from './files-two-run.ts';
import { plainState } from './files-vary.ts';
import type { Kind, Shape } from './files-vary.ts';
import { temporaryFolder } from './temporary-folder.ts';

const again = testSeed();

/** Less would mean that the other cells hardly did anything. */
const sightsMin = 15;

test.each<[string, Kind, Groups]>([
  ['the file, the tools or the variables of a cell hold', 'module', { groups: 22, runs: 5 }],
  ['the MCP server of a cell says over HTTP', 'web', { groups: 4, runs: 4 }],
  ['the MCP server of a cell says over pipes', 'stdio', { groups: 3, runs: 5 }],
])('whatever %s, the other cells see the same', async (_, kind, { groups: all, runs }) => {
  const groups = testRuns(all);
  const report = await compareTeams(cloister, kind, { groups, runs, ...again });
  expect(filesDifferenceText(report)).toBe('no difference');
  if (again.path === undefined) expect(report.runs).toBe(groups * runs);
  expect(report.sights / report.runs).toBeGreaterThan(sightsMin);
});

test('the comparison covers every way in which a cell made from files receives something', async () => {
  await using folder = await temporaryFolder();
  const root = folder.path;
  const shape: Shape = {
    varied: 'right/deep',
    leftInput: 'json',
    leftAsked: 'json, repaired',
    viaGather: false,
    web: true,
    keysFrom: 'sidecar',
    ending: 'unlisted',
    answer: '',
  };
  const state = plainState('right/deep');
  const observations = await watchTeam(cloister, root, shape, state, stdioServersFor(root, ['lead'], shape, state));
  const all = observations.map(({ bytes }) => bytes).join('\n');
  const expectedTexts = [
    ...cellNames
      .filter((cell) => cell !== shape.varied)
      .flatMap((cell) => [
        `You are ${cell}.`,
        `The style of ${cell}.`,
        `Bearer key-of-${cell}-0123456789`,
        `"x-team":"team-of-${cell}"`,
        `Bearer token-of-${cell}-0123456789`,
        `as ${cell} finds it`,
        `Does probe. of ${cell}`,
      ]),
    '\\"temperature\\":0.5',
    '\\"name\\":\\"web__echo\\"',
    '"method\\":\\"tools/list',
    'No luck with ',
    'Read more with read_output',
    '\\\\\\"notes.md\\\\\\" does not exist',
    'is not one of: ',
    '\\\\\\"question\\\\\\":\\\\\\"WATCHED Look at ',
    'matching this JSON Schema',
    'Your answer is not valid',
    'Result from left (status: completed)',
    'Result from right (status: partial)',
    'Result from deep (status: failed)',
    '"BOX_TOKEN":"token-of-lead-0123456789"',
    '"--team","team-of-lead"',
    '"name":"look","arguments":{"mark":"',
  ];
  expect(expectedTexts.filter((words) => !all.includes(words))).toEqual([]);
});

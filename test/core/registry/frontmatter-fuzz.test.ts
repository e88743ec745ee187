// Whatever the bytes are: a result, no exception, no changed prototype, and time linear in the length of the text.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseYaml } from '#adapters/yaml';
import { frontmatterTemplate, parseAgentFile } from '#core/registry';
import { codePoint } from '../../code-point.ts';
import { testRuns } from '../../test-seed.ts';
import { frontmatters, written } from './frontmatter-files.ts';

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype];
const namesBefore = prototypes.map((prototype) => Reflect.ownKeys(prototype));

/** What is wrong with the result for a text; null if nothing is. */
const defectIn = (text: string): string | null => {
  const { file, problems } = parseAgentFile('fuzz.ai', text, { parseYaml });
  if ((file === null) === (problems.length === 0)) return 'neither a file nor a problem, or both';
  const lines = text.split('\n').length;
  for (const { line, message, key } of problems) {
    if (message === '' || message.length > 600) return `a message of ${message.length} characters`;
    if (line !== null && !(line >= 1 && line <= lines)) return `line ${line} of ${lines}, key ${key}`;
  }
  return 'polluted' in {} ? 'a prototype was changed' : null;
};

const pieces =
  `--- ...|---|--- |: |:|- |? |*a|&a |!a |!!js/function |<<: |>-|"|'|\\|\\u0000|#!|#|{|}|[|]|,|{a: |[[|~|.inf|0x|1e999|-0|é|😀
__proto__: {polluted: 1}|constructor: {prototype: {polluted: 1}}|toString: 1|limits:|limits: null|maxTurns: 5|llmTimeout: 30s
agents: [a, a]|spawns: [a]|spawns: {pool: {__proto__: 1}}|tools: spawn_agent|topics: {hear: x}|models: x|output: {format: json}|description:|usage: 5`
    .split(/[|\n]/u)
    .concat('|', '\n', '\n---\n', '\r\n', '\r', '\t', '  ', '\uFEFF', '\0', '\uFFFD', '\u2028', '\uD800', '%YAML 1.1\n')
    .concat('9'.repeat(40), ' '.repeat(200));
const piece = fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: codePoint, maxLength: 4 }));

/** Cuts, duplicates or fills text at random positions. */
const damaged = (text: string, edits: readonly (readonly [number, number, string, number])[]): string =>
  edits.reduce((now, [at, length, other, kind]) => {
    const start = at % (now.length + 1);
    const end = Math.min(now.length, start + (length % 24));
    if (kind === 0) return now.slice(0, start) + now.slice(end);
    if (kind === 1) return now.slice(0, end) + now.slice(start);
    return now.slice(0, start) + other + now.slice(kind === 2 ? start : end);
  }, text);

const edits = fc.array(fc.tuple(fc.nat(), fc.nat(), piece, fc.nat(3)), { minLength: 1, maxLength: 4 });

/** Small valid files to start from: drawing new ones for each input would take most of the time. */
const seeds = (): readonly string[] => {
  const numbers = fc.sample(fc.nat(), { numRuns: 4_000 }).values();
  const choose = (ways: number): number => (numbers.next().value ?? 0) % ways;
  const texts = fc.sample(frontmatters(), 300).map((frontmatter) => {
    const { description: _, usage: __, ...others } = frontmatter;
    const few = Object.entries(others).filter(([key]) => key === 'output' || choose(3) === 0);
    const keys = written({ description: 'Works', usage: 'a topic', ...Object.fromEntries(few) }, choose);
    return `---\n${stringify(keys, { aliasDuplicateObjects: false })}---\nWork.\n---\nMore.`;
  });
  return [
    `#!/usr/bin/env cloister\n${frontmatterTemplate({})}Work.\n`.replaceAll('\n', '\r\n'),
    ...texts.filter((text) => text.length < 500).slice(0, 100),
  ];
};

test('damaged files', () =>
  fc.assert(
    fc.property(fc.constantFrom(...seeds()), edits, (text, changes) => {
      expect(defectIn(damaged(text, changes))).toBeNull();
    }),
    { numRuns: testRuns(6_000) },
  ));

test('10,000 frontmatters made of YAML fragments', () =>
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (parts) => {
      expect(defectIn(`---\n${parts.join('')}\n---\nWork.`)).toBeNull();
    }),
    { numRuns: 10_000 },
  ));

test('4,000 arbitrary texts', () =>
  fc.assert(
    fc.property(fc.string({ unit: codePoint, maxLength: 200 }), (text) => {
      expect(defectIn(text)).toBeNull();
    }),
    { numRuns: 4_000 },
  ));

test('no prototype has changed afterwards', () =>
  expect(prototypes.map((prototype) => Reflect.ownKeys(prototype))).toEqual(namesBefore));

const repeated = (unit: string) => (size: number) => unit.repeat(Math.ceil(size / unit.length));
const between =
  (start: string, unit: string, end = '') =>
  (size: number) =>
    `---\n${start}${repeated(unit)(size)}${end}\n---\nWork.`;
const growing: Readonly<Record<string, (size: number) => string>> = {
  'unknown keys': (size) => `---\n${Array.from({ length: size / 8 }, (_, index) => `k${index}: 1\n`).join('')}---\n`,
  'keys near to known ones': (size) =>
    `---\n${Array.from({ length: size / 16 }, (_, index) => `maxRetry${index}: 1\n`).join('')}---\n`,
  'unknown keys of one block': (size) =>
    `---\nlimits:\n${Array.from({ length: size / 10 }, (_, index) => `  k${index}: 1\n`).join('')}---\n`,
  models: (size) => `---\nmodels:\n${Array.from({ length: size / 12 }, (_, index) => `- a/m${index}\n`).join('')}---\n`,
  'wrong models': between('models: [', 'x y, ', ']'),
  'one model': between('models: a/', 'b/'),
  'one agent of spaces': between('agents: "a', ' ', '"'),
  'one duration': between('llmTimeout: ', '1'),
  'one number': between('seed: ', '9'),
  'one long key': between('', 'maxtool', ': 1'),
  brackets: between('a: ', '['),
  'closing brackets': between('a: ', ']'),
  braces: between('', '{a: '),
  dashes: between('', '- '),
  'lines of dashes': repeated('----\n'),
  'opening lines': repeated('---\n'),
  'spaces in quotes': between('description: "x', ' ', '"'),
  'lines in quotes': between('description: "x', ' \n', '"'),
  'open quotes': between('', "'\n"),
  aliases: between('a: [', '*a, '),
  anchors: between('', '&a '),
  comments: between('', '#\n'),
  commas: between('a: [', ','),
  blanks: repeated('\n'),
  'blank lines with spaces': repeated('   \n'),
  'a shebang without an end': (size) => `#!${repeated('-')(size)}`,
  'not text': (size) => `---\n---\n${repeated('\uFFFD')(size)}`,
};

/** Processor time of this process, the minimum of a few runs. */
const cost = (text: string): number => {
  let least = Infinity;
  for (let run = 0; run < 2; run++) {
    const start = process.cpuUsage();
    parseAgentFile('grown.ai', text, { parseYaml });
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, user + system);
  }
  return least;
};

// Sixteen times the text: linear work costs about 16 times as much, quadratic work 256 times.
test.each(Object.entries(growing))('parsing time is linear in the length of the text: %s', (_, text) => {
  cost(text(1_000));
  const small = Math.max(cost(text(2_000)), 500);
  expect(cost(text(32_000)) / small).toBeLessThan(100);
});

// Nothing of the process environment reaches a vendor, and no vendor's package is loaded before it is needed.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const vendors = ['openai', 'anthropic', 'google', 'openai-compatible', 'provider-utils', 'provider'];

/** The code of a package, without its maps. */
const codeOf = (name: string): string =>
  readdirSync(`node_modules/${name}/dist`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?js$/u.test(entry.name))
    .map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8'))
    .join('\n');

const code = vendors.map((name) => codeOf(`@ai-sdk/${name}`)).join('\n');

const unique = (found: Iterable<RegExpMatchArray>): string[] =>
  [...new Set([...found].map(([, name]) => name!))].sort();

/** Every name that the vendors' packages look up. */
const lookedUp = unique(code.matchAll(/environmentVariableName:\s*["'`]([^"'`]+)["'`]/gu));

/** What other clients of these vendors are known to read. */
const knownVariables = `
  OPENAI_ORG_ID OPENAI_ORGANIZATION OPENAI_PROJECT OPENAI_PROJECT_ID ANTHROPIC_AUTH_TOKEN GOOGLE_API_KEY GEMINI_API_KEY
  GOOGLE_GENERATIVE_AI_BASE_URL OPENROUTER_API_KEY OPENROUTER_BASE_URL OLLAMA_HOST OLLAMA_API_KEY AI_GATEWAY_API_KEY
`.match(/\S+/gu)!;

const names = new Set([
  ...lookedUp,
  ...knownVariables,
  ...unique(code.matchAll(/["'`]([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)["'`]/gu)),
]);

type Report = { before: string[]; after: string[]; sent: string[]; failures: string[]; facts: object };

const run = async (env: Record<string, string>): Promise<Report> => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--conditions=cloister-source', 'test/adapters/models/other-process.ts'],
    { env },
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Report;
};

/** Everything that looks like a variable name is treated as one. */
const poisoned = (valueOf: (name: string) => string): Record<string, string> =>
  Object.fromEntries([...names].map((name) => [name, valueOf(name)]));

const clean = run({});

test('the vendor packages look up exactly these variables', () => {
  expect(lookedUp).toEqual([
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
  ]);
});

test('the vendor packages read variables in only one way, and the price list reads none', () => {
  const ways = new Set([...code.matchAll(/process(?:\?\.|\.)env\b.{0,30}/gu)].map(([way]) => way));
  expect([...ways]).toEqual(['process.env[environmentVariableName];']);
  expect(codeOf('@pydantic/genai-prices')).not.toMatch(/process\.env/u);
});

// invariant: model-key-from-config
test.each([
  [
    'names keys, accounts and addresses',
    poisoned((name) => (/URL|HOST/u.test(name) ? 'http://poison.invalid/v1' : `poison-${name}`)),
  ],
  ['is empty everywhere', poisoned(() => '')],
])('an environment that %s changes nothing', async (_, env) => {
  const report = await run(env);
  expect(report.sent.join('\n')).not.toContain('poison');
  expect(report).toEqual(await clean);
});

test('every provider sends the values it was given', async () => {
  const { sent, failures } = await clean;
  expect(sent).toHaveLength(14);
  for (const request of sent) expect(request).toContain('http://given.invalid/v1/');
  expect(sent.filter((request) => request.includes('given-key'))).toHaveLength(12);
  expect(new Set(failures)).toEqual(new Set(['AI_APICallError']));
});

test('no vendor package is loaded by importing or connecting', async () => {
  const { before, after, facts } = await clean;
  expect(before).toEqual([]);
  expect(after).toEqual(expect.arrayContaining(['@ai-sdk/openai', '@ai-sdk/anthropic', '@pydantic/genai-prices']));
  expect(facts).toHaveProperty('price');
});

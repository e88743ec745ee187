import { expect, test } from 'vitest';
import type { Json } from '#base';
import type { ProviderConfig, ServerConfig } from '#contracts';
import { collectSecrets } from '#core/registry';
import { makeRedact, secretCharsMin } from '#testing/core/registry';

const secret = 'sk-test-0123456789';
const redact = makeRedact([secret])!;

test('without secrets there is no redactor', () => {
  expect(makeRedact([])).toBeNull();
  expect(makeRedact(['', 'short', 'x'.repeat(secretCharsMin - 1)])).toBeNull();
  expect(makeRedact(['x'.repeat(secretCharsMin)])).not.toBeNull();
});

test('regular expression characters are matched literally', () => {
  const odd = '^.*+?(){}|[]\\$&';
  expect(makeRedact([odd])!.text(`a${odd}b`)).toBe('a[redacted]b');
  expect(makeRedact(['........'])!.text('abcdefgh')).toBe('abcdefgh');
});

test('overlapping secrets are removed completely', () => {
  const both = makeRedact(['abcdefgh1234', '1234ijklmnop'])!;
  expect(both.text('<abcdefgh1234ijklmnop>')).toBe('<[redacted]>');
  const nested = makeRedact(['inner-secret', 'my-inner-secret-is-long'])!;
  expect(nested.text('inner-secret, my-inner-secret-is-long, my-inner-secret')).toBe(
    '[redacted], [redacted], my-[redacted]',
  );
});

test('two adjacent secrets become two marks', () => {
  expect(redact.text(secret + secret)).toBe('[redacted][redacted]');
});

test('only the credentials in a header are redacted', () => {
  expect(redact.text(`Authorization: Bearer ${secret}\nX: 1`)).toBe('Authorization: Bearer [redacted]\nX: 1');
  const basic = Buffer.from(`user:${secret}`).toString('base64');
  expect(redact.text(`Basic ${basic}`)).toMatch(/^Basic dXNlcj[\w]?\[redacted\]$/u);
});

// invariant: redact-idempotent
test('the redaction mark itself is never redacted, whatever the secrets are', () => {
  const words = makeRedact(['redacted', '[redacted]', 'x[redacted]y', 'x[redacted]yyyyyyyy', ']abcdefg'])!;
  expect(words.text('It was redacted.')).toBe('It was [redacted].');
  expect(words.text('It was [redacted].')).toBe('It was [redacted].');
  expect(words.text('x[redacted]yyyyyyyy')).toBe('x[redacted][redacted]');
  expect(words.text('redactedabcdefg')).toBe('[redacted]abcdefg');
  expect(words.text('[redacted]abcdefg')).toBe('[redacted]abcdefg');
});

test('JSON is redacted in every string and key, and otherwise unchanged', () => {
  const value = { [`a ${secret}`]: [1, null, true, { deep: `${secret}!` }], plain: 'text', n: 1.5 };
  expect(redact.json(value)).toEqual({
    'a [redacted]': [1, null, true, { deep: '[redacted]!' }],
    plain: 'text',
    n: 1.5,
  });
  expect(value.plain).toBe('text');
});

test('JSON without a secret is the same object, and redacting twice changes nothing', () => {
  const value = { a: ['b', { c: 'd' }], '': undefined };
  expect(redact.json(value)).toBe(value);
  const once = redact.json([secret, { [secret]: 1 }]);
  expect(redact.json(once)).toBe(once);
});

test('keys that become equal after redaction are all kept', () => {
  const hex = Buffer.from(secret).toString('hex');
  expect(redact.json({ [secret]: 1, [hex]: 2, '[redacted]': 3 })).toEqual({
    '[redacted]': 1,
    '[redacted] 2': 2,
    '[redacted] 3': 3,
  });
});

test('a key named __proto__ is an ordinary key', () => {
  const value = JSON.parse(`{"__proto__":{"polluted":"${secret}"}}`) as Json;
  const redacted = redact.json(value);
  expect(JSON.stringify(redacted)).toBe('{"__proto__":{"polluted":"[redacted]"}}');
  expect(Object.getPrototypeOf(redacted)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('JSON may be nested to any depth', () => {
  const depth = 100_000;
  let clean: Json = 'leaf';
  let dirty: Json = secret;
  for (let index = 0; index < depth; index++) [clean, dirty] = [[clean], { a: dirty }];
  expect(redact.json(clean)).toBe(clean);
  let inner = redact.json(dirty) as Json;
  for (let index = 0; index < depth; index++) inner = (inner as { a: Json }).a;
  expect(inner).toBe('[redacted]');
});

// invariant: redact-linear
test('text that nearly matches a long secret at every position takes no longer than other text', () => {
  const long = `${'a'.repeat(50_000)}b`;
  const text = 'a'.repeat(2_000_000);
  expect(makeRedact([long])!.text(`${text}b`)).toBe(`${'a'.repeat(1_950_000)}[redacted]`);
});

test('many secrets, long texts and long secrets are redacted completely', () => {
  const many = Array.from({ length: 50 }, (_, index) => `${index}-${'k'.repeat(index)}-secret-${index * 7919}`);
  const all = makeRedact(many)!;
  const filler = 'Lorem ipsum {"dolor": "sit\\u0020amet"} %20 '.repeat(2000);
  expect(all.text(many.join(filler))).toBe(many.map(() => '[redacted]').join(filler));
  const long = Array.from({ length: 3000 }, (_, index) => `line ${index} of "it"`).join('\n');
  const longRedact = makeRedact([long])!;
  expect(longRedact.text(`<${long}>${JSON.stringify({ long })}${Buffer.from(long).toString('base64')}`)).toBe(
    '<[redacted]>{"long":"[redacted]"}[redacted]',
  );
});

const secretsIn = (config: ProviderConfig | ServerConfig, overlay = {}, plain: readonly string[] = []) =>
  collectSecrets([['it', config]], overlay, plain);

test('a value substituted into a declared field is secret unless the operator lists it as plain', () => {
  const config: ServerConfig = {
    type: 'stdio',
    command: 'x',
    args: ['--root', '${ROOT}', '${UNSET:-}'],
    env: { PASS: '${PASS}', MODE: '${MODE:-quiet}' },
  };
  const overlay = { ROOT: '/srv/projects', PASS: 'correct horse', UNUSED: 'never named' };
  expect(secretsIn(config, overlay)).toEqual({
    own: ['/srv/projects', 'correct horse'],
    strong: [],
    weak: ['ROOT', 'PASS'],
    tooShort: [],
  });
  expect(secretsIn(config, overlay, ['ROOT'])).toMatchObject({ own: ['correct horse'], weak: ['PASS'] });
});

test('values that are too short are reported, not redacted', () => {
  const config: ProviderConfig = { type: 'openai', apiKey: '${KEY}', headers: { 'X-Token': 'abc' } };
  expect(secretsIn(config, { KEY: 'sk-1' })).toEqual({
    own: [],
    strong: [],
    weak: [],
    tooShort: ['KEY', 'it.headers.X-Token'],
  });
});

test('what nobody can guess is searched for everywhere, and the rest of the value only in cells that hold it', () => {
  const key = 'q7Zr2Kx9Wm4Bv8Tn3Hs6Yd';
  const config: ProviderConfig = { type: 'openai', apiKey: '${KEY}', headers: { 'X-Database': '${URL}' } };
  const url = `postgres://app:${key}x@db/app`;
  expect(secretsIn(config, { KEY: key, URL: url })).toEqual({
    own: [key, url, `${key}x`],
    strong: [key, `${key}x`],
    weak: [],
    tooShort: [],
  });
});

const written: readonly (readonly [string, ProviderConfig | ServerConfig, readonly string[]])[] = [
  ['an API key', { type: 'openai', apiKey: 'sk-written-out' }, ['sk-written-out']],
  ['a default that is used', { type: 'openai', apiKey: '${UNSET:-sk-default-key}' }, ['sk-default-key']],
  [
    'a header by its name, with and without its scheme',
    { type: 'openai', headers: { authorization: 'Bearer tok-12345678', 'X-Trace': 'not secret at all' } },
    ['Bearer tok-12345678', 'tok-12345678'],
  ],
  [
    'cookies',
    { type: 'http', url: 'https://a.test', headers: { Cookie: 'sid=abcdef123456; lang=en' } },
    ['sid=abcdef123456; lang=en', 'sid=abcdef123456', 'abcdef123456'],
  ],
  [
    'parameters and passwords of a URL',
    { type: 'sse', url: 'https://me:pass-word-1@a.test/x?api_key=q-12345678&page=1234567890' },
    ['pass-word-1', 'q-12345678'],
  ],
  [
    'environment variables with telling names',
    { type: 'stdio', command: 'x', env: { GITHUB_TOKEN: 'ghp_12345678', LANGUAGE: 'en_GB.UTF-8' } },
    ['ghp_12345678'],
  ],
  [
    'arguments after or in a telling flag',
    { type: 'stdio', command: 'x', args: ['--api-key', 'key-123456', '--token=tok-123456', '--verbose', 'everything'] },
    ['key-123456', 'tok-123456'],
  ],
  ['nothing of a module', { type: 'module', module: './secret-token.ts' }, []],
];

test.each(written)('these literal values are secret: %s', (_name, config, values) => {
  expect(secretsIn(config)).toMatchObject({ own: values, tooShort: [] });
});

test('the text around a variable is not secret', () => {
  const headers = { Authorization: 'Negotiate ${TOKEN}' };
  expect(secretsIn({ type: 'http', url: 'https://a.test', headers }, { TOKEN: 'tok-12345678' }).own).toEqual([
    'tok-12345678',
  ]);
});

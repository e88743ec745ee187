import fc from 'fast-check';
import { expect, test } from 'vitest';
import { strongParts } from '#core/registry';
import { estimateBits, strongBitsMin, strongCharsMin } from '#testing/core/registry';
import { seededRng } from '../../app/serve/seeded-rng.ts';

const seed = 20_268;
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const rng = seededRng(seed);
const random = (length: number, alphabet = letters): string =>
  Array.from({ length }, () => alphabet[rng.below(alphabet.length)]!).join('');
const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => rng.below(256)));
const signs = String.fromCharCode(...Array.from({ length: 94 }, (_, at) => at + 33));
const uuid = (): string =>
  bytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/u, '$1-$2-4$3-a$4-$5');

/** A share of the draws may contain words by chance; of those with more characters, fewer. */
test.each<[string, () => string, number]>([
  ['sk- and 48 letters and digits', () => `sk-${random(48)}`, 0],
  ['ghp_ and 36 letters and digits', () => `ghp_${random(36)}`, 0],
  ['sk_live_ and 24 letters and digits', () => `sk_live_${random(24)}`, 0.005],
  ['32 letters and digits', () => random(32), 0],
  ['16 bytes in hex', () => bytes(16).toString('hex'), 0.002],
  ['32 bytes in hex', () => bytes(32).toString('hex'), 0],
  ['16 bytes in base64', () => bytes(16).toString('base64'), 0.02],
  ['30 bytes in base64', () => bytes(30).toString('base64'), 0],
  ['32 bytes in base64url', () => bytes(32).toString('base64url'), 0],
  ['a UUID', uuid, 0.002],
  ['32 lower-case letters', () => random(32, letters.slice(26, 52)), 0.02],
  ['32 characters with all signs', () => random(32, signs), 0.06],
  ['a password of 24 characters in a URL', () => `postgres://app:${random(24)}@db.internal/app`, 0.005],
  ['a token of 35 characters after an id', () => `1234567890:${random(35)}`, 0],
  ['a line of a PEM file', () => `-----BEGIN KEY-----\n${bytes(48).toString('base64')}\n-----END KEY-----`, 0],
  ['a field of JSON', () => JSON.stringify({ type: 'service', key: [random(40)] }), 0],
])('nobody can guess %s', (_name, draw, weakShareMax) => {
  const drawn = Array.from({ length: 500 }, draw);
  const weak = drawn.filter((value) => strongParts(value).length === 0);
  expect(weak.length / drawn.length, weak[0]).toBeLessThanOrEqual(weakShareMax);
});

// invariant: secret-words-count-nothing
test.each([
  'Summer2026!',
  'CorrectHorseBatteryStaple2026!',
  'correct horse battery staple',
  'correct-horse-battery-staple',
  'my-company-password-2026',
  'MyDogIsCalledRexAndHeIs7YearsOld!',
  'JohnSmith1985JaneSmith1987',
  'Krzysztof-Szczepanski-1974-Wroclaw',
  'Müllerstraße-Würzburg-2026-Übergröße',
  'пароль-пароль-секрет-длинный',
  'a'.repeat(60),
  'ab'.repeat(30),
  'k7Qx'.repeat(10),
  'qwertyuiopasdfghjklzxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn',
  '!QAZ2wsx#EDC4rfv%TGB6yhn',
  'zaq12wsxcde34rfvbgt56',
  'a1b2c3d4e5f6g7h8i9j0k1l2',
  'SUMMERtimeBEACHparty2026!',
  'SomeREALLYlongPASSwordHERE',
  '12345678901234567890',
  'P4ssw0rdP4ssw0rdP4ssw0rd1!',
  '2026-11-17T12:00:00.000Z',
  '01.02.1999-31.12.2026',
  'DE89 3704 0044 0532 0130 00',
  'https://internal.example.com/path',
  'https://db-prod-3.internal.eu-west-1.example-company.com:8443/api/v2/tenants/research',
  'firstname.lastname@some-company.example.com',
  '/home/someone/projects/company/secret/file.json',
  'postgres://user:pass@host/db',
  'postgres://svc_billing:Rotterdam2019@db-prod-3.internal.example.com:5432/billing',
  'Server=db.example.com;Database=orders;User Id=sa;Password=Winter2026!;',
  '{"user":"administrator","password":"Summer2026!","host":"db.internal.example.com"}',
  'svc-db-prd-xml-sql-gtw-k8s-vpc-ssl-tls',
  '-----BEGIN PRIVATE KEY-----',
  'x7Kq9',
  'x7Kq9Wm2Zr4Tn8Vb3Hs',
])('%j can be guessed', (value) => {
  expect(strongParts(value)).toEqual([]);
});

test('a text that can be guessed is no harder to guess in base64 or hex', () => {
  const text = 'administrator:Summer2026!';
  for (const encoding of ['base64', 'base64url', 'hex'] as const)
    expect(strongParts(Buffer.from(text).toString(encoding))).toEqual([]);
  const strong = Buffer.from('user:q7Zr2Kx9Wm4Bv8Tn3Hs6Yd').toString('base64');
  expect(strongParts(strong)).toEqual([strong]);
});

// invariant: secret-judged-in-parts
test('each part is judged by itself: two halves that can be guessed are not strong together', () => {
  const half = 'x7Kq9Wm2Zr';
  for (const separator of [' ', '\n', '\r\n', '\t'])
    expect(strongParts([half, half, half].join(separator))).toEqual([]);
  expect(strongParts(`user${half}:${half}pass`)).toEqual([]);
  expect(strongParts(`https://${half}:${half}@host/${half}?key=${half}`)).toEqual([]);
  expect(strongParts(`a=${half};b=${half};c=${half}`)).toEqual([]);
});

test('more of a value never makes its strong part weaker', () => {
  const key = 'q7Zr2Kx9Wm4Bv8Tn3Hs6Yd';
  const around = fc.stringMatching(/^[a-z]{0,8}$/u);
  fc.assert(
    fc.property(around, around, fc.constantFrom('\n', ' ', '\r\n\r\n'), (before, after, separator) => {
      expect(strongParts([before, key, after].join(separator))).toContain(key);
    }),
    { seed, numRuns: 200 },
  );
  expect(strongParts(`postgres://app:${key}@db.internal/app`)).toEqual([key]);
  expect(strongParts(`{"a":{"b":["${key}"]},"c":"Summer2026!"}`)).toEqual([key]);
});

// invariant: secret-estimate-pure
test('what was estimated before changes nothing', () => {
  const values = [
    'q7Zr2Kx9Wm4Bv8Tn3Hs6Yd',
    'correct-horse-battery-staple',
    'x7Kq9Wm2Zr',
    'q7Zr2Kx9Wm4Bv8Tn3Hs6Yd'.repeat(2),
  ];
  const estimates = () => values.map((value) => [estimateBits(value), strongParts(value)]);
  const first = estimates();
  values.reverse();
  expect(estimates().reverse()).toEqual(first);
});

// invariants: secret-strong-part, secret-strong-charset
test('the estimate is between nothing and all bits of the characters, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80, unit: fc.constantFrom(...signs, ' ', 'é', '\u0085') }), (text) => {
      const bits = estimateBits(text);
      expect(bits).toBeGreaterThanOrEqual(0);
      expect(bits).toBeLessThanOrEqual(text.length * 7);
      for (const part of strongParts(text)) {
        expect([...part].length).toBeGreaterThanOrEqual(strongCharsMin);
        expect(estimateBits(part)).toBeGreaterThanOrEqual(strongBitsMin);
        expect(text).toContain(part);
        expect(part).toMatch(/^[!-~]+$/u);
      }
    }),
    { seed, numRuns: 200 },
  );
});

// Redaction compared with a naive model and with the encoders that programs use.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Agent, Redact } from '#contracts';
import { Redactors } from '#core/registry';
import { makeRedact } from '#testing/core/registry';

const mark = '[redacted]';

/** The definition, implemented naively: marks are left alone; between them, each region covered by secrets becomes a mark. */
const modelRedact = (text: string, secrets: readonly string[]): string =>
  text
    .split(mark)
    .map((part) => {
      const covered = Array.from({ length: part.length }, () => false);
      /** Code units that belong to the same region as the one before them. */
      const joined = Array.from({ length: part.length }, () => false);
      for (const secret of secrets)
        for (let at = part.indexOf(secret); at !== -1; at = part.indexOf(secret, at + 1))
          for (let index = at; index < at + secret.length; index++) {
            covered[index] = true;
            if (index > at) joined[index] = true;
          }
      return [...part].map((character, index) => (!covered[index] ? character : joined[index] ? '' : mark)).join('');
    })
    .join(mark);

/** Few letters and pieces of the mark, so that secrets overlap, contain each other and nearly match. */
const letters = fc.constantFrom('a', 'b', 'a', 'b', '[', ']', 'red', '[reda', 'cted]', mark);
const tightText = fc.array(letters, { maxLength: 60 }).map((parts) => parts.join(''));
const tightSecret = fc
  .array(fc.constantFrom('a', 'b', 'a', 'b', 'ab', '[', ']', '[reda', 'cted]'), { minLength: 8, maxLength: 14 })
  .map((parts) => parts.join(''))
  .filter((secret) => !secret.includes(mark));
/** Also nested secrets, so that the inner one may occur in text that starts like the outer one. */
const tightSecrets = fc
  .tuple(fc.array(tightSecret, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([secrets, nest]) => (nest ? [...secrets, `ba${secrets[0]}bba`] : secrets));
const tightCase = fc
  .record({ secrets: tightSecrets, pieces: fc.array(tightText, { maxLength: 5 }) })
  .chain(({ secrets, pieces }) =>
    fc
      .array(fc.oneof(fc.constantFrom(...secrets), cutOf(secrets), fc.constantFrom('', ...pieces)), { maxLength: 6 })
      .map((parts) => ({ secrets, text: parts.join('') })),
  );

/** The beginning or the end of a secret. */
const cutOf = (secrets: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...secrets), fc.nat(20), fc.boolean())
    .map(([secret, at, front]) => (front ? secret.slice(0, at) : secret.slice(at)));

const redactorOf = (secrets: readonly string[]) => makeRedact(secrets)!;

const inPieces = (redact: Redact, pieces: readonly string[]): string => {
  const stream = redact.stream();
  return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
};

// invariants: redact-longest, redact-idempotent
test('redaction agrees with the model for secrets that overlap, contain each other or nearly match', () => {
  fc.assert(
    fc.property(tightCase, ({ secrets, text }) => {
      const redact = redactorOf(secrets);
      const redacted = redact.text(text);
      expect(redacted).toBe(modelRedact(text, secrets));
      expect(redact.text(redacted)).toBe(redacted);
    }),
    { numRuns: 3000 },
  );
});

// invariant: redact-every-form
test('a stream cut anywhere gives the same result as the whole text', () => {
  fc.assert(
    fc.property(tightCase, fc.array(fc.nat(60), { maxLength: 6 }), ({ secrets, text }, cuts) => {
      const redact = redactorOf(secrets);
      const whole = redact.text(text);
      const places = [0, ...cuts.filter((at) => at < text.length).sort((a, b) => a - b), text.length];
      expect(
        inPieces(
          redact,
          places.slice(1).map((at, index) => text.slice(places[index], at)),
        ),
      ).toBe(whole);
      expect(inPieces(redact, text.split(''))).toBe(whole);
    }),
    { numRuns: 1500 },
  );
});

test('the secrets of everyone and those of one agent are searched for as one set', () => {
  const agent = { name: 'any' } as Agent;
  fc.assert(
    fc.property(tightCase, fc.nat(3), ({ secrets, text }, count) => {
      const redactors = new Redactors();
      redactors.add(secrets.slice(0, count));
      const redact = redactors.forAgent(agent, [], () => secrets.slice(count));
      const whole = redactorOf(secrets).text(text);
      expect(redact?.text(text)).toBe(whole);
      expect(inPieces(redact!, text.split(''))).toBe(whole);
      expect(redactors.forAgent(agent, [], () => [])).toBe(redact);
    }),
    { numRuns: 500 },
  );
});

// invariant: redactor-by-own-run
test('a run searches for the secrets of everyone, its own and those of the agent as one set, and nobody else for its own', () => {
  const agent = { name: 'any' } as Agent;
  fc.assert(
    fc.property(tightCase, fc.nat(3), fc.nat(3), ({ secrets, text }, count, more) => {
      const base = new Redactors();
      const ofRun = new Redactors(base);
      const [everyone, rest] = [secrets.slice(0, count), secrets.slice(count)];
      const redacted = (redactors: Redactors): string =>
        redactors.forAgent(agent, [], () => rest.slice(more))?.text(text) ?? text;
      ofRun.add(rest.slice(0, more));
      // What is added to the base later is searched for too.
      redacted(ofRun);
      base.add(everyone);
      expect(redacted(ofRun)).toBe(redactorOf(secrets).text(text));
      expect(redacted(base)).toBe(makeRedact([...everyone, ...rest.slice(more)])?.text(text) ?? text);
      expect(base.forEveryone?.text(text) ?? text).toBe(makeRedact(everyone)?.text(text) ?? text);
    }),
    { numRuns: 500 },
  );
});

test('every way to cut one text in two, also inside a surrogate pair', () => {
  const secret = 'sk-🔑é"key/12';
  const once = JSON.stringify(secret).slice(1, -1);
  const text = `🔑 ${secret} ${secret.slice(0, 5)} ${once} ${Buffer.from(`x:${secret}`).toString('base64')} 🔑${secret}🔑`;
  const redact = redactorOf([secret]);
  const whole = redact.text(text);
  expect(whole.split(mark)).toHaveLength(5);
  for (let at = 0; at <= text.length; at++)
    expect(inPieces(redact, [text.slice(0, at), text.slice(at)]), `cut at ${at}`).toBe(whole);
});

test('a stream holds back the word that is being written, however a secret begins', () => {
  const ab = (options: { minLength?: number; maxLength: number }) =>
    fc.array(fc.constantFrom('a', 'b'), options).map((parts) => parts.join(''));
  const secrets = fc.array(ab({ minLength: 9, maxLength: 12 }), { minLength: 1, maxLength: 3 });
  const separator = fc.constantFrom(' ', '\n', 'é', '、');
  const words = fc.array(fc.tuple(ab({ maxLength: 12 }), separator), { maxLength: 6 }).map((parts) => parts.flat());
  fc.assert(
    fc.property(secrets, secrets, words, ab({ maxLength: 12 }), (one, other, before, word) => {
      const text = before.join('') + word;
      fc.pre(![...one, ...other].some((secret) => text.includes(secret)));
      expect(redactorOf(one).stream().push(text)).toBe(before.join(''));
      // So the pieces are the same whatever the secrets are.
      const pieces = [...before, word].flatMap((part) => part.split(/(?<=a)/u));
      const [first, second] = [one, other].map((held) => {
        const stream = redactorOf(held).stream();
        return [...pieces.map((piece) => stream.push(piece)), stream.end()];
      });
      expect(first).toEqual(second);
    }),
    { numRuns: 500 },
  );
});

test('of an endless word, a stream holds back as much as the longest form of a secret', () => {
  const stream = redactorOf(['sk-q7Zr2Kx9Wm4Bv8Tn3']).stream();
  const shown = Array.from({ length: 50 }, () => stream.push('x'.repeat(100)));
  expect(shown.join('').length).toBe(5_000 - 512);
  expect(stream.push('sk-q7Zr2Kx9Wm4') + stream.push('Bv8Tn3 ')).toBe(`${'x'.repeat(512)}[redacted] `);
});

test('a complete secret is redacted at the end of its word, or immediately if it begins the word', () => {
  const secrets = ['sk-12345678', 'sk-12345678-and-more'];
  expect(redactorOf(secrets.slice(0, 1)).stream().push('key: sk-12345678')).toBe('key: [redacted]');
  expect(redactorOf(secrets).stream().push('key: sk-12345678')).toBe('key: [redacted]');
  const stream = redactorOf(['12345678', 'sk-12345678-and-more']).stream();
  expect(stream.push('key: sk-12345678')).toBe('key: ');
  expect(stream.push('.')).toBe('');
  expect(stream.push(' ')).toBe('sk-[redacted]. ');
});

/** The ways in which other programs encode a value; none of this is the code under test. */
const encoders: Record<string, (value: string) => string> = {
  raw: (value) => value,
  base64: (value) => Buffer.from(value).toString('base64'),
  'base64 without padding': (value) => Buffer.from(value).toString('base64').replace(/=+$/u, ''),
  base64url: (value) => Buffer.from(value).toString('base64url'),
  'base64 in a URL': (value) => encodeURIComponent(Buffer.from(value).toString('base64')),
  'base64 in PHP’s JSON': (value) => Buffer.from(value).toString('base64').replaceAll('/', '\\/'),
  'lower-case hex': (value) => Buffer.from(value).toString('hex'),
  'upper-case hex': (value) => Buffer.from(value).toString('hex').toUpperCase(),
  encodeURIComponent: (value) => encodeURIComponent(value),
  'encodeURIComponent in lower case': (value) =>
    encodeURIComponent(value).replaceAll(/%../gu, (hex) => hex.toLowerCase()),
  encodeURI: (value) => encodeURI(value),
  'a form': (value) => new URLSearchParams({ v: value }).toString().slice(2),
  'every byte by percent': (value) => Buffer.from(value).toString('hex').replaceAll(/../gu, '%$&'),
  JSON: (value) => JSON.stringify(value).slice(1, -1),
  'JSON in JSON': (value) => JSON.stringify(JSON.stringify(value)).slice(3, -3),
  'JSON with slashes': (value) => JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
  'ASCII JSON': (value) =>
    JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(/[^\0-\x7e]/gu, spellOut),
  'JSON for HTML': (value) =>
    JSON.stringify(value)
      .slice(1, -1)
      .replaceAll(/[<>&']/gu, spellOut),
  'ASCII JSON in JSON': (value) =>
    JSON.stringify(JSON.stringify(value).replaceAll(/[^\0-\x7e]/gu, spellOut)).slice(3, -3),
  'every character by \\u': (value) => spellOut(value),
  'every character by \\u in JSON': (value) => JSON.stringify(spellOut(value)).slice(1, -1),
  'JSON in a form': (value) => new URLSearchParams({ v: JSON.stringify(value).slice(1, -1) }).toString().slice(2),
  HTML: (value) =>
    value
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
};

function spellOut(text: string): string {
  return text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

const unit = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...'abcdefXYZ0123456789-_') },
  { weight: 3, arbitrary: fc.constantFrom(...' !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~') },
  { weight: 1, arbitrary: fc.constantFrom('é', 'ß', '€', '語', '🔑', '\n', '\t', '\u2028') },
);
const secretText = fc.array(unit, { minLength: 8, maxLength: 40 }).map((units) => units.join(''));
/** Letters that occur in no encoded form of those secrets. */
const around = fc.array(fc.constantFrom('Ж', 'Ω', 'א'), { maxLength: 8 }).map((units) => units.join(''));

// invariant: redact-every-form
test('no encoded form of a secret survives, and the surrounding text stays', () => {
  fc.assert(
    fc.property(
      secretText,
      fc.constantFrom(...Object.keys(encoders)),
      around,
      around,
      (secret, name, before, after) => {
        const form = encoders[name]!(secret);
        expect(redactorOf([secret]).text(before + form + after), name).toBe(before + mark + after);
      },
    ),
    { numRuns: 3000 },
  );
});

test('in a longer text encoded as a whole, every character that belongs to the secret alone is removed', () => {
  fc.assert(
    fc.property(
      secretText,
      fc.string({ maxLength: 9 }),
      fc.string({ maxLength: 9 }),
      fc.constantFrom<BufferEncoding>('base64', 'base64url'),
      (secret, before, after, encoding) => {
        const encoded = Buffer.from(before + secret + after).toString(encoding);
        const first = Math.ceil((Buffer.byteLength(before) * 8) / 6);
        const end = Math.floor((Buffer.byteLength(before + secret) * 8) / 6);
        const redacted = redactorOf([secret]).text(encoded);
        expect(redacted.startsWith(encoded.slice(0, first) + mark)).toBe(true);
        expect(encoded.slice(end).endsWith(redacted.slice(first + mark.length))).toBe(true);
      },
    ),
    { numRuns: 1000 },
  );
});

const anyText = fc.string({ unit: 'binary', maxLength: 120 });

// invariant: redact-keeps-other-text
test('text without a secret is unchanged as text, bytes, JSON and stream', () => {
  const keys = fc.array(
    fc.string({ minLength: 16, maxLength: 40, unit: fc.constantFrom(...'0123456789abcdefghijkXYZ-_') }),
    {
      minLength: 1,
      maxLength: 3,
    },
  );
  fc.assert(
    fc.property(keys, anyText, fc.json(), (secrets, text, json) => {
      const redact = redactorOf(secrets);
      expect(redact.text(text)).toBe(text);
      expect(inPieces(redact, text.split(''))).toBe(text);
      const bytes = new TextEncoder().encode(text);
      expect(redact.bytes(bytes)).toBe(bytes);
      const value = JSON.parse(json) as never;
      expect(redact.json(value)).toBe(value);
    }),
    { numRuns: 500 },
  );
});

test('bytes are redacted like their text', () => {
  fc.assert(
    fc.property(
      secretText,
      fc.constantFrom(...Object.keys(encoders)),
      anyText,
      anyText,
      (secret, name, before, after) => {
        const redact = redactorOf([secret]);
        const text = before + encoders[name]!(secret) + after;
        expect(Buffer.from(redact.bytes(Buffer.from(text))).toString()).toBe(Buffer.from(redact.text(text)).toString());
      },
    ),
    { numRuns: 500 },
  );
});

test('bytes that are not UTF-8 are searched too, and otherwise unchanged', () => {
  fc.assert(
    fc.property(
      secretText,
      fc.uint8Array({ maxLength: 40 }),
      fc.uint8Array({ maxLength: 40 }),
      (secret, before, after) => {
        const broken = Buffer.concat(
          [before, [0xff, 0xc3], Buffer.from(secret), [0xff], after].map((part) => Buffer.from(part)),
        );
        const expected = Buffer.concat(
          [before, [0xff, 0xc3], Buffer.from(mark), [0xff], after].map((part) => Buffer.from(part)),
        );
        expect(Buffer.from(redactorOf([secret]).bytes(broken))).toEqual(expected);
      },
    ),
    { numRuns: 500 },
  );
});

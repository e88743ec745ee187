// Sessions that cannot start, models with a long retry-after, replies that end in an error, and which values are secret.
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, ServerConfig, RunPorts } from '#contracts';
import { validate } from '#adapters/schemas';
import { memoryStore } from '#adapters/stores';
import { memoryCellFolders } from '#adapters/cell-folders';
import { startRun } from '#core/orchestration';
import { collectSecrets } from '#core/registry';
import { makeRedact } from '#testing/core/registry';
import { countingIds, rehearse, virtualClock } from '#testkit';
import type { ScriptLine } from '#testkit';
import { agent, always, ask, call, calls, lines, ofType, runUntilSettled, world } from './driver.ts';
import { auditProblems } from './recorded.ts';

describe('an agent whose resources cannot be resolved', () => {
  const run = async (says: readonly ScriptLine[], unready: string, error: unknown) => {
    const clock = virtualClock(1_000_000);
    const rehearsal = rehearse(says, { clock });
    const store = memoryStore();
    const frames: Frame[] = [];
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    const worldPorts: RunPorts = {
      run: 'a1b2c3d4e5f6' as RunId,
      log: { append: (frame) => void frames.push(frame), durable: () => undefined, close: async () => undefined },
      clock,
      ids: countingIds(),
      workspaces: memoryCellFolders(),
      validate,
      resources: {
        resourcesFor: ({ name }) => {
          if (name === unready) throw error;
          return { models: [{ language: rehearsal }], sources: [] };
        },
      },
      storeBlob: (bytes) => store.putBlob(bytes),
      readBlob: (ref) => store.getBlob(ref),
      lane: () => undefined,
    };
    const helper = agent('helper');
    const lead = agent('lead', { agents: [helper, agent('other')], gather: { timeoutMs: 5_000 } });
    const outcome = await runUntilSettled(clock, startRun(lead, 'Find it', undefined, worldPorts).outcome);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', onUnhandled);
    return { outcome, frames, unhandled, requests: rehearsal.requests.map(({ prompt }) => JSON.stringify(prompt)) };
  };
  const missing = new CloisterError('model_missing', 'no such thing');

  test.each<[string, unknown]>([
    ['from the catalogue', missing],
    ['of any kind', new TypeError('odd')],
    ['that is a plain string', 'just words'],
  ])('ends as failed when it is a child, and its parent continues: an error %s', async (_, error) => {
    const says = [...lines({ lead: [call('helper', { prompt: 'Look.' }), 'Done alone.'] })];
    const { outcome, frames, unhandled, requests } = await run(says, 'helper', error);
    expect(outcome).toMatchObject({ status: 'partial', output: 'Done alone.', missing: ['helper'] });
    expect(requests).toHaveLength(2);
    expect(requests[1]).toContain('tool-result');
    expect(unhandled).toEqual([]);
    expect(await auditProblems(frames)).toEqual([]);
    expect(JSON.stringify(frames)).toContain(error === missing ? '"code":"model_missing"' : '"code":"defect"');
  });

  test('is missing from gather, and the others answer', async () => {
    const tasks = ['helper', 'other'].map((name) => ({ agent: name, prompt: 'Look.' }));
    const says = lines({ lead: [call('gather', { tasks }), 'Done.'], other: ['Other was here.'] });
    const { outcome, frames, unhandled, requests } = await run(says, 'helper', missing);
    expect(outcome).toMatchObject({ status: 'partial', output: 'Done.', missing: ['helper'] });
    expect(requests.at(-1)).toContain('Other was here.');
    expect(unhandled).toEqual([]);
    expect(await auditProblems(frames)).toEqual([]);
  });

  test('ends the run as failed when it is the root', async () => {
    const { outcome, unhandled, requests, frames } = await run([always('Never.')], 'lead', missing);
    expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'model_missing' } });
    expect(requests).toEqual([]);
    expect(unhandled).toEqual([]);
    expect(await auditProblems(frames)).toEqual([]);
  });
});

describe('a model that sends retry-after', () => {
  const askTwo = async (retryAfterMs: number, fault: 429 | 503) => {
    const { clock } = world();
    const one = rehearse([{ times: 1, reply: { fault, retryAfterMs } }, always('First.')], { clock });
    const two = rehearse([always('Second.')], { clock });
    const solo = agent('solo', { limits: { llmTimeout: 10_000, maxRetries: 2 } });
    const { outcome, events } = await ask(solo, { clock, models: [one.model, two.model] });
    return { outcome, waits: ofType(events, 'wait-start').map(({ ms }) => ms), tries: one.requests.length };
  };

  test.each([429, 503] as const)(
    'longer than a request may take is skipped immediately for the next model: %i',
    async (fault) => {
      const { outcome, waits, tries } = await askTwo(10_001, fault);
      expect(outcome).toMatchObject({ status: 'completed', output: 'Second.', spent: { ms: 0 } });
      expect([waits, tries]).toEqual([[], 1]);
    },
  );

  test.each([429, 503] as const)('not longer than that is waited for: %i', async (fault) => {
    const { outcome, waits, tries } = await askTwo(10_000, fault);
    expect(outcome).toMatchObject({ status: 'completed', output: 'First.', spent: { ms: 10_000 } });
    expect([waits, tries]).toEqual([[10_000], 2]);
  });
});

describe('a reply that ends with an error', () => {
  test.each([
    ['text', { text: 'Half an answer', finish: 'error' } as const],
    ['calls', { ...calls('nothing'), text: 'I will call', finish: 'error' } as const],
    ['nothing', { text: '', finish: 'error' } as const],
  ])('is retried, and the audit finds no problem: with %s', async (_, reply) => {
    const { outcome, audit, requests } = await ask(agent('solo'), {
      says: [...lines({ solo: [reply] }), always('Done.')],
    });
    expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(requests).toHaveLength(2);
    expect(requests[1]!.text).toBe(requests[0]!.text);
    expect(audit).toMatchObject({ ok: true, problems: [] });
  });

  test('on every attempt ends the session as failed', async () => {
    const { outcome, requests } = await ask(agent('solo', { limits: { maxRetries: 1 } }), {
      says: [always({ text: 'Half', finish: 'error' })],
    });
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model_server' } });
    expect(requests).toHaveLength(2);
  });
});

describe('values of secret variables', () => {
  const config: ServerConfig = { type: 'stdio', command: 'x', env: { PASS: '${PASS}' } };
  const secretsIn = (value: string) => collectSecrets([['it', config]], { PASS: value }, []);
  const redacted = (value: string, text: string) => makeRedact(secretsIn(value).own)?.text(text) ?? text;

  test.each(['1', 'abcdefg', '12345678', '123456789012345', ' 12345678 ', 'ab\ncd'])(
    '%j is too short, or too easy to guess, to be redacted',
    (value) => {
      expect(secretsIn(value)).toMatchObject({ own: [], tooShort: ['PASS'] });
      expect(redacted(value, `It is ${value}.`)).toBe(`It is ${value}.`);
    },
  );

  test.each(['abcdefgh', '1234567a', '1234567890123456'])('%j is redacted', (value) => {
    expect(secretsIn(value)).toMatchObject({ own: [value], tooShort: [] });
    expect(redacted(value, `It is ${value}.`)).toBe('It is [redacted].');
  });

  test.each(['correct-horse\n', '  correct-horse', '\tcorrect-horse \r\n'])(
    '%j is redacted without leading and trailing whitespace',
    (value) => {
      expect(secretsIn(value)).toMatchObject({ tooShort: [] });
      expect(redacted(value, 'It is correct-horse.')).toBe('It is [redacted].');
    },
  );

  test('each line of a multi-line value is redacted if it is long enough', () => {
    const value = '-----BEGIN KEY-----\r\nMIIBOgIBAAJB\n  AKj34GkxFhD9\nshort\n-----END KEY-----\n';
    expect(secretsIn(value)).toMatchObject({ tooShort: [] });
    expect(redacted(value, 'First MIIBOgIBAAJB, then AKj34GkxFhD9, then short.')).toBe(
      'First [redacted], then [redacted], then short.',
    );
    expect(redacted(value, `All: ${value}`)).not.toMatch(/BEGIN KEY|MIIB|AKj34/u);
  });
});

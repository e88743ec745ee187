// The schema of an answer goes with the request, where the model supports that. The prompt states it in any case.
import { expect, test } from 'vitest';
import type { Model } from '#contracts';
import { rehearse } from '#testkit';
import type { Script } from '#testkit';
import { agent, always, ask, call, lines } from './driver.ts';
import { auditProblems, checkEveryCrash, mutableCopy, record, resume } from './recorded.ts';

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
const answer = '{"city":"Graz"}';

const run = async (says: Script, output: object = { schema }, facts: Partial<Model> = { structuredOutput: true }) => {
  const model = rehearse(says);
  const expert = agent('expert', {
    output: { format: 'json', ...output },
    tools: ['list_files'],
    limits: { maxRetries: 0 },
  });
  const asked = await ask(expert, { models: [{ ...model.model, ...facts }] });
  expect(await asked.cloister.replay(asked.outcome.run)).toMatchObject({ ok: true, differences: [] });
  return {
    ...asked,
    formats: model.requests.map(({ responseFormat }) => responseFormat),
    texts: model.requests,
  };
};

test('a model that supports it gets the schema in every request, and in its prompt', async () => {
  const { outcome, formats, texts } = await run(lines({ expert: [call('list_files'), `It is ${answer}`] }));
  expect(outcome).toMatchObject({ status: 'completed', output: answer });
  expect(formats).toEqual([1, 2].map(() => ({ type: 'json', name: 'answer', schema })));
  expect(JSON.stringify(texts[0]!.prompt)).toContain('matching this JSON Schema');
});

test.each([
  ['a model that is not known to support it', { schema }, {}],
  ['an answer without a schema', {}, { structuredOutput: true }],
  ['a schema of anything but objects', { schema: { type: ['object', 'null'] } }, { structuredOutput: true }],
])('%s: the prompt alone states what is expected', async (_, output, facts) => {
  const { outcome, formats } = await run(lines({ expert: [answer] }), output, facts);
  expect(outcome).toMatchObject({ status: 'completed', output: answer });
  expect(formats).toEqual([undefined]);
});

test('a provider that refuses the request gets it again without the schema, for the rest of the session', async () => {
  const says = lines({ expert: [{ fault: 400 }, 'Not yet.', answer] });
  const { outcome, formats } = await run(says);
  expect(outcome).toMatchObject({ status: 'completed', output: answer });
  expect(formats.map((format) => format !== undefined)).toEqual([true, false, false]);
  expect(outcome.spent.uncertain).toBe(0);
});

test('a provider that refuses it without the schema too has refused it', async () => {
  const { outcome, formats } = await run([{ reply: { fault: 400 } }]);
  expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'model_request' } });
  expect(formats).toHaveLength(2);
});

// invariant: audit-derives-holds
test('the schema counts as input that is reserved, and the audit knows its size', async () => {
  const expert = agent('expert', { output: { format: 'json', schema } });
  const recorded = async (facts: Partial<Model>) => {
    const { frames } = await record(expert, { says: [always(answer)], facts });
    const { attempt, record: begin } = frames.find((frame) => frame.attempt !== undefined)!;
    return { frames, attempt, tokens: begin.type === 'begin' ? (begin.hold?.tokens ?? 0) : 0 };
  };
  const [plain, native] = [await recorded({}), await recorded({ structuredOutput: true })];
  const bytes = JSON.stringify(schema).length;
  expect([plain.attempt?.schemaBytes, native.attempt?.schemaBytes]).toEqual([undefined, bytes]);
  expect(native.tokens).toBeGreaterThan(plain.tokens);
  expect(native.attempt?.settings).not.toBe(plain.attempt?.settings);
  expect(await auditProblems(native.frames)).toEqual([]);
  const falsified = mutableCopy(native.frames);
  falsified.find((frame) => frame.attempt !== undefined).attempt.schemaBytes += 1;
  expect(await auditProblems(falsified)).toContainEqual(expect.objectContaining({ code: 'prompt-bytes' }));
  const raised = mutableCopy(native.frames);
  raised.find((frame) => frame.attempt !== undefined).record.hold.tokens += 1;
  expect(await auditProblems(raised)).toContainEqual(expect.objectContaining({ code: 'hold-amount' }));
});

test('a run whose provider refused the schema takes the same path after any crash', async () => {
  const expert = agent('expert', { output: { format: 'json', schema }, limits: { maxRetries: 0 } });
  const says = [always(answer)];
  const plain = rehearse(says);
  const refusing: Model['language'] = {
    ...plain.model.language,
    doStream: async (options) => {
      if (options.responseFormat !== undefined) throw Object.assign(new Error('No schemas.'), { statusCode: 400 });
      return plain.model.language.doStream(options);
    },
  };
  const facts = { structuredOutput: true, language: refusing };
  const whole = await record(expert, { says, facts });
  await checkEveryCrash(whole.frames, async (prefix, where) => {
    const { outcome, frames } = await resume(prefix, expert, { says, facts });
    expect(outcome, where).toMatchObject({ status: 'completed', output: answer });
    expect(await auditProblems([...prefix, ...frames]), where).toEqual([]);
  });
});

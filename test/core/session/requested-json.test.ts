// An agent that answers in text by default, asked for JSON by its caller.
import { defineAgent, openCloister } from 'cloister';
import type { Agent } from 'cloister';
import { describe, expect, test } from 'vitest';
import { withOutputFormat } from '#core/orchestration';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { agent, always, ask, call, lastResults, lines } from './driver.ts';
import { checkEveryCrash, resume, auditProblems, record } from './recorded.ts';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
} as const;

const expert = agent('expert', {
  prompt: 'Answer with ${FORMAT}. You have ${MAX_TURNS} turns.',
  limits: { maxToolTurns: 5 },
});

const good = '{"city":"Graz","people":300000}';
const bad = '{"city": "Graz"}';

const run = async (says: readonly ScriptLine[], asked: Agent = expert) => {
  const model = rehearse(says);
  const cloister = await openCloister({ store: 'memory', agents: [asked], models: [model] });
  const session = cloister.run(asked.name, 'How large is Graz?', { schema });
  const outcome = await session.outcome;
  expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [], unattributedBytes: 0 });
  return { outcome, requests: model.requests, texts: model.requests.map(({ prompt }) => JSON.stringify(prompt)) };
};

describe('JSON requested by run', () => {
  test('the model is shown the schema, and the answer is checked and parsed', async () => {
    const { outcome, texts } = await run([always(`Here it is:\n\`\`\`json\n${good}\n\`\`\``)]);
    expect(outcome).toMatchObject({ status: 'completed', data: { city: 'Graz', people: 300_000 }, failure: null });
    expect(texts).toHaveLength(1);
    expect(texts[0]).toMatch(
      /Answer with one JSON value and nothing else, matching this JSON Schema: .*people.*You have 5 turns/u,
    );
    expect(texts[0]).not.toContain('${');
  });

  test('without a request for JSON it answers in text, and nothing is checked', async () => {
    const { outcome, requests } = await ask(expert, { says: [always(bad)] });
    expect(outcome).toMatchObject({ status: 'completed', output: bad, data: null });
    expect(requests[0]!.text).toContain('Answer with plain text. You have 5 turns.');
  });

  test('an answer that does not fit is sent back once, with the errors', async () => {
    const { outcome, texts } = await run(lines({ expert: [bad, good] }));
    expect(outcome).toMatchObject({ status: 'completed', data: { people: 300_000 } });
    expect(texts[1]).toMatch(/Your answer is not valid:.*people.*Reply again with only the JSON value/u);
  });

  test.each([
    ['does not fit', bad, /people/u],
    ['is no JSON', 'About 300000.', /not JSON/u],
  ])('when the second answer %s either, the failure states what was wrong', async (_, second, words) => {
    const { outcome, texts } = await run(lines({ expert: ['I think so.', second] }));
    expect(outcome).toMatchObject({ status: 'failed', output: '', data: null, failure: { code: 'answer_schema' } });
    expect(outcome.failure?.detail).toMatch(words);
    expect(texts).toHaveLength(2);
  });

  test('an agent with its own JSON format gives the requested one instead', async () => {
    const own = agent('expert', { output: { format: 'json', schema: { type: 'object', required: ['other'] } } });
    const { outcome, texts } = await run([always(good)], own);
    expect(outcome).toMatchObject({ status: 'completed', data: { city: 'Graz' } });
    expect(texts[0]).not.toContain('other');
  });

  test('an unusable schema is rejected before anything is recorded', async () => {
    const cloister = await openCloister({ store: 'memory', agents: [expert], models: [rehearse([always(good)])] });
    expect(() => cloister.run('expert', 'How large?', { schema: { $ref: '#/$defs/nowhere' } })).toThrow(
      /schema: expected a JSON Schema/u,
    );
    expect(await cloister.runs()).toEqual([]);
  });
});

describe('JSON requested by the parent', () => {
  const lead = agent('lead', { agents: [withOutputFormat(expert, { format: 'json', schema })] });

  test('the parent gets the JSON', async () => {
    const { outcome, requests } = await ask(lead, {
      says: lines({ lead: [call('expert', { prompt: 'Graz?' }), 'Done.'], expert: [bad, good] }),
    });
    expect(outcome.status).toBe('completed');
    expect(lastResults(requests)[0]).toMatchObject({ type: 'text', text: expect.stringContaining(`| ${good}`) });
  });

  test('a child without valid JSON has failed: the parent gets class, summary and suggestion', async () => {
    const { outcome, requests } = await ask(lead, {
      says: lines({ lead: [call('expert', { prompt: 'Graz?' }), 'Done.'], expert: [bad, bad] }),
    });
    expect(outcome).toMatchObject({ status: 'partial', missing: ['expert'] });
    expect(lastResults(requests)[0]!.text).toMatch(
      /\(status: failed\)\. Error \(schema\): The answer does not match the output schema\. Retry/u,
    );
  });

  test('a request for JSON changes neither the agent nor other requests to it', () => {
    const asked = withOutputFormat(expert, { format: 'json', schema });
    expect(asked.digest).not.toBe(expert.digest);
    expect(expert.signature.output).toEqual({ format: 'text' });
    expect(withOutputFormat(asked, { format: 'text' }).digest).toBe(expert.digest);
    expect(Object.isFrozen(asked) && Object.isFrozen(asked.signature.output.schema)).toBe(true);
  });
});

test('a run asked for JSON still gives JSON when resumed after any crash', async () => {
  const says = [
    { when: { agent: 'expert', turn: 1 }, reply: bad },
    { when: { agent: 'expert', turn: 2 }, reply: good },
  ];
  const whole = await record(withOutputFormat(expert, { format: 'json', schema }), { says });
  expect(whole.outcome).toMatchObject({ status: 'completed', data: { people: 300_000 } });
  await checkEveryCrash(whole.frames, async (prefix, where) => {
    const { outcome, frames } = await resume(prefix, expert, { says });
    expect(outcome, where).toMatchObject({ status: 'completed', data: whole.outcome.data, output: good });
    expect(await auditProblems([...prefix, ...frames]), where).toEqual([]);
  });
  const changed = defineAgent({ name: 'expert', description: 'Does what expert does.', prompt: 'Answer otherwise.' });
  expect(() => resume(whole.frames.slice(0, 2), changed, { says })).toThrow(/has changed since/u);
});

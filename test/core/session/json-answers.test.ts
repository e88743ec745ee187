// A JSON answer is its value: whatever the model wrote around it stays in the cell.
import { describe, expect, test } from 'vitest';
import { openCloister } from 'cloister';
import { rehearse } from '#testkit';
import { agent, always, ask, call, calls, lastResults, lines, ofType } from './driver.ts';
import { auditProblems, mutableCopy, record } from './recorded.ts';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
} as const;

const expert = agent('expert', { output: { format: 'json', schema } });
const value = '{"city":"Graz","people":300000}';
const prose = `I asked SECRET-SOURCE.\n\`\`\`json\n{ "city": "Graz",\n  "people": 3e5 }\n\`\`\`\nMore next time.`;

describe('the value is the result', () => {
  test('of a run: the output is the value, and the transcript keeps the whole reply', async () => {
    const { outcome, cloister, report, events } = await ask(expert, { says: [always(prose)] });
    expect(outcome).toMatchObject({ status: 'completed', output: value, data: JSON.parse(value) });
    expect(ofType(events, 'session-end').at(-1)).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(report)).not.toContain('SECRET-SOURCE');
    expect(await cloister.replay(outcome.run)).toMatchObject({ ok: true, differences: [] });
  });

  test('of a sub-agent: its parent is shown the value alone, called as a tool or by gather', async () => {
    const lead = agent('lead', { agents: [expert], gather: { timeoutMs: 60_000 } });
    const gathered = { tasks: [{ agent: 'expert', prompt: 'Graz?' }] };
    const { outcome, requests } = await ask(lead, {
      says: lines({
        lead: [calls({ tool: 'expert', args: { prompt: 'Graz?' } }, { tool: 'gather', args: gathered }), 'Done.'],
        expert: [prose, prose],
      }),
    });
    expect(outcome.status).toBe('completed');
    const [called, viaGather] = lastResults(requests);
    expect(called!.text).toContain(`| ${value}`);
    expect(viaGather!.text).toContain('300000');
    expect(requests.at(-1)!.text).not.toMatch(/SECRET-SOURCE|next time|```/u);
  });

  test('of a resident: its mail and its end hold the value alone', async () => {
    const cloister = await openCloister({ store: 'memory', agents: [expert], models: [rehearse([always(prose)])] });
    const session = await cloister.spawn('expert', { message: 'Graz?' });
    expect(await session.answer()).toMatchObject({ status: 'completed', text: value });
    session.finish();
    expect(await session.outcome).toMatchObject({ output: value, data: JSON.parse(value) });
    expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [] });
  });

  test('live: one piece, once it fits', async () => {
    const { events } = await ask(expert, { says: lines({ expert: ['Not yet, I think.', prose] }) });
    expect(ofType(events, 'text-delta').map(({ text }) => text)).toEqual([value]);
  });

  test.each([
    ['that does not fit', { text: `No: {"city":"SECRET-SOURCE"}` }, 'answer_schema'],
    ['that is cut', { text: 'SECRET-SOURCE: {"city":"Gr', finish: 'length' as const }, 'model_length'],
  ])('an answer %s is no result: nothing of it reaches the parent', async (_, reply, code) => {
    const lead = agent('lead', { agents: [expert] });
    const { report, requests } = await ask(lead, {
      says: [
        ...lines({ lead: [call('expert', { prompt: 'Graz?' })] }),
        always('Done.', 'lead'),
        always(reply, 'expert'),
      ],
    });
    expect(report.cells.find(({ agent: name }) => name === 'expert')?.outcome).toMatchObject({
      status: 'failed',
      output: '',
      failure: { code },
    });
    expect(requests.at(-1)!.text).not.toContain('SECRET-SOURCE');
  });

  test('what it wrote before a limit stopped it is no result', async () => {
    const busy = agent('busy', { output: { format: 'json', schema }, tools: ['list_files'], limits: { max_steps: 1 } });
    const { outcome } = await ask(busy, { says: [always({ text: 'Looking.', ...calls('list_files') })] });
    expect(outcome).toMatchObject({ output: '', data: null, failure: { code: 'agent_limit' } });
  });

  test('an answer without turns left is partial if it fits', async () => {
    const last = agent('last', { output: { format: 'json' }, tools: ['list_files'], limits: { maxToolTurns: 1 } });
    const { outcome } = await ask(last, { says: lines({ last: [calls('list_files'), 'So far: {"a": 1}'] }) });
    expect(outcome).toMatchObject({ status: 'partial', output: '{"a":1}', data: { a: 1 } });
  });
});

describe('a value is passed on unchanged, or sent back', () => {
  const free = agent('free', { output: { format: 'json' } });

  // invariant: exact-json-keeps-key-order
  test.each([
    [
      'keys keep their order, those that look like numbers too',
      '{"b": 1, "10": 2, "2": 3, "a": {"1": [], "0": {}}}',
      '{"b":1,"10":2,"2":3,"a":{"1":[],"0":{}}}',
    ],
    [
      'numbers are written in their shortest form',
      '[1.0, 1e2, 0, 0.1, 1.50, 9007199254740992, 1E-7, 0.30000000000000004]',
      '[1,100,0,0.1,1.5,9007199254740992,1e-7,0.30000000000000004]',
    ],
    [
      'strings keep every character',
      '["\\u00e9\\/\\ud800", "\\"\\\\ \\t", "\u2028"]',
      '["é/\\ud800","\\"\\\\ \\t","\u2028"]',
    ],
    ['scalars are values', ' null ', 'null'],
  ])('%s', async (_, text, written) => {
    const { outcome, requests } = await ask(free, { says: [always(text)] });
    expect(requests).toHaveLength(1);
    expect(outcome).toMatchObject({ status: 'completed', output: written });
    expect(outcome.data).toEqual(JSON.parse(text));
  });

  // invariant: exact-json-nothing-changed-silently
  test.each([
    ['a duplicate key', '{"a":{"b":1,"c":2,"\\u0062":3}}', /Duplicate key \\+"b\\+"/u],
    [
      'a whole number that a double cannot hold',
      '{"id":12345678901234567890}',
      /12345678901234567890 cannot be kept exactly \(it would become 12345678901234567000\)/u,
    ],
    ['a number that is too large', '[1e400]', /1e400 cannot be kept exactly\. Use fewer digits, or a string/u],
    ['a number that is too small', '[1e-400]', /1e-400 cannot be kept exactly \(it would become 0\)/u],
    ['more digits than a double holds', '[3.14159265358979323846]', /would become 3\.141592653589793\)/u],
    ['`__proto__`', '{"__proto__":1}', /`__proto__` cannot be a key/u],
    ['two values side by side', 'Either [1] or {"a":1}.', /more than one JSON value/u],
    ['a value nested too deeply', '['.repeat(200) + ']'.repeat(200), /Nested deeper than 100 levels/u],
  ])('%s is a problem that the model is told once', async (_, text, told) => {
    const { outcome, requests } = await ask(free, { says: lines({ free: [text, '{"ok":true}'] }) });
    expect(requests[1]!.text).toMatch(told);
    expect(outcome).toMatchObject({ status: 'completed', output: '{"ok":true}' });
    const again = await ask(free, { says: [always(text)] });
    expect(again.outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'answer_schema' } });
  });

  test('of two values side by side, the one that fits is meant; of an array, never a part', async () => {
    const one = await ask(expert, { says: [always(`As [1] says: ${value}`)] });
    expect(one.outcome).toMatchObject({ status: 'completed', output: value });
    const list = agent('list', { output: { format: 'json', schema: { type: 'array' } } });
    const other = await ask(list, { says: [always('It is [{"a": 1}].')] });
    expect(other.outcome).toMatchObject({ status: 'completed', output: '[{"a":1}]' });
  });
});

test.each([
  ['before a brace of the text around it', '{"list":[1,2]} and {so on}', '{"list":[1,2]}'],
  ['before a bracket of the text around it', 'It is [{"a":1}], as in [sic].', '[{"a":1}]'],
  ['after brackets of the text around it', 'Given f(x[i]) and {x}: {"a":[1]}', '{"a":[1]}'],
  ['with brackets in its strings', 'So: {"a":"}{\\"]["}.', '{"a":"}{\\"]["}'],
])('a value %s is the result, not a part of it', async (_, text, written) => {
  const { outcome } = await ask(agent('free', { output: { format: 'json' } }), { says: [always(text)] });
  expect(outcome).toMatchObject({ status: 'completed', output: written });
});

test.each([
  ['is broken', { text: '{"list":[1,2], more}' }],
  ['is cut off', { text: '{"list":[1,2],"rest":', finish: 'length' as const }],
])('no part of a value that %s is the result', async (_, reply) => {
  const { outcome } = await ask(agent('free', { output: { format: 'json' } }), { says: [always(reply)] });
  expect(outcome).toMatchObject({ status: 'failed', output: '', data: null });
});

test('a secret that was escaped in the answer is removed when the value is written without escapes', async () => {
  const secret = 'sk-live-9f8e7d6c5b4a';
  const escaped = [...secret].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  const { outcome, frames } = await record(expert, {
    says: [always(`{"city":"${escaped}","people":1}`)],
    secrets: [secret],
  });
  expect(outcome).toMatchObject({ status: 'completed', output: '{"city":"[redacted]","people":1}' });
  expect(JSON.stringify([outcome, frames.slice(-1)])).not.toContain(secret);
  expect(await auditProblems(frames)).toEqual([]);
});

test('the value is shown live in one piece also if there are secrets', async () => {
  const secret = 'sk-live-9f8e7d6c5b4a';
  const shown: unknown[] = [];
  await record(expert, {
    says: [always(`Well: {"city":"New York, ${secret}","people":1}`)],
    secrets: [secret],
    onLive: (event) => event.type === 'text-delta' && shown.push(event.text),
  });
  expect(shown).toEqual(['{"city":"New York, [redacted]","people":1}']);
});

test('the audit finds a value that its model did not write, and an output that is not the value', async () => {
  const { frames } = await record(expert, { says: [always(prose)] });
  expect(await auditProblems(frames)).toEqual([]);
  const isCheck = (frame: any): boolean => frame.record.value?.json !== undefined;
  const forged = mutableCopy(frames);
  const other = '{"city":"Linz","people":1}';
  forged.find(isCheck).record.value.json = forged.at(-1).record.outcome.output = other;
  expect((await auditProblems(forged)).map(({ message }) => message)).toContain(
    "its value is not in the model's reply",
  );
  const surrounded = mutableCopy(frames);
  surrounded.at(-1).record.outcome.output = prose;
  expect(await auditProblems(surrounded)).toContainEqual(expect.objectContaining({ code: 'outcome-answer' }));
});

test('the audit finds data that an answer lacks, or that a text should not have', async () => {
  const json = mutableCopy((await record(expert, { says: [always(prose)] })).frames);
  json.at(-1).record.outcome.data = null;
  const text = mutableCopy((await record(agent('plain'), { says: [always(value)] })).frames);
  text.at(-1).record.outcome.data = { made: 'up' };
  for (const frames of [json, text])
    expect(await auditProblems(frames)).toEqual([expect.objectContaining({ code: 'outcome-envelope' })]);
});

import { describe, expect, test } from 'vitest';
import * as fc from 'fast-check';
import { agentNameIn, rehearse, unscriptedText } from '#testkit';
import type { ScriptLine, ScriptedReply } from '#testkit';
import { askFor, assemble, deltasOf, failureOf, readParts, textOf } from './driver.ts';

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.lorem());
const amount = fc.nat(1_000_000);
const anyReply: fc.Arbitrary<ScriptedReply> = fc
  .tuple(
    fc.oneof(fc.record({ text }), fc.record({ pieces: fc.array(text) })),
    fc.record(
      {
        reasoning: text,
        calls: fc.array(
          fc.record(
            {
              tool: fc.stringMatching(/^[a-z_]{1,12}$/u),
              args: fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<any>,
            },
            { requiredKeys: ['tool'] },
          ),
          { maxLength: 4 },
        ),
        usage: fc.record({ input: amount, output: amount }, { requiredKeys: [] }),
        finish: fc.constantFrom('stop', 'length', 'tool-calls'),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([said, more]) => ({ ...said, ...more }));

describe('a reply', () => {
  test('is the same when streamed and when generated', () =>
    fc.assert(
      fc.asyncProperty(anyReply, text, async (reply, goal) => {
        const model = rehearse([{ reply }]);
        const { content, finishReason, usage } = await model.doGenerate(askFor({ goal }));
        const { parts } = await readParts(model, askFor({ goal }));
        expect(assemble(parts)).toEqual({ content, finishReason, usage });
      }),
    ));

  test('has the text of the script, with all its white space', () =>
    fc.assert(
      fc.asyncProperty(text, async (said) => {
        const { parts } = await readParts(rehearse([{ reply: () => said }]), askFor());
        expect(deltasOf(parts).join('')).toBe(said);
      }),
    ));

  test('is streamed word by word, or in the pieces given', async () => {
    const words = await readParts(rehearse([{ reply: 'one two  three ' }]), askFor());
    expect(deltasOf(words.parts)).toEqual(['one', ' two', '  three', ' ']);
    const pieces = await readParts(rehearse([{ reply: { pieces: ['on', 'e t', 'wo'] } }]), askFor());
    expect(deltasOf(pieces.parts)).toEqual(['on', 'e t', 'wo']);
  });

  test('of many words is streamed in a bounded number of pieces', async () => {
    const said = 'word '.repeat(50_000);
    const { parts } = await readParts(rehearse([{ reply: said }]), askFor());
    expect(parts.length).toBeLessThan(300);
    expect(deltasOf(parts).join('')).toBe(said);
  });

  // invariant: rehearsal-deterministic
  test('with several calls gives each an id of turn and position', async () => {
    const model = rehearse([
      { reply: { calls: [{ tool: 'a', args: { x: 1 } }, { tool: 'b' }, { tool: 'c', id: 'own' }] } },
    ]);
    const { content, finishReason } = await model.doGenerate(askFor({ turns: [{ a: 'done' }] }));
    expect(content).toEqual([
      { type: 'tool-call', toolCallId: 'call_2_1', toolName: 'a', input: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'call_2_2', toolName: 'b', input: '{}' },
      { type: 'tool-call', toolCallId: 'own', toolName: 'c', input: '{}' },
    ]);
    expect(finishReason).toEqual({ unified: 'tool-calls', raw: 'tool-calls' });
  });

  test('never reuses the id of a call that is still in the prompt, even when older turns were dropped', async () => {
    const asked = askFor({ turns: [{ a: '1' }, { a: '2' }, { a: '3' }] });
    asked.prompt.splice(2, 2);
    const { content } = await rehearse([{ reply: { calls: [{ tool: 'a' }] } }]).doGenerate(asked);
    expect(content).toMatchObject([{ toolCallId: 'call_4_1' }]);
  });

  test('reports usage as given, estimated, or not at all', async () => {
    const usageOf = async (usage: ScriptedReply['usage']) =>
      (await rehearse([{ reply: { text: '12345678', reasoning: '1234', usage } }]).doGenerate(askFor({ goal: '' })))
        .usage;
    expect(await usageOf({ input: 100, output: 7, cacheRead: 60, cacheWrite: 30 })).toEqual({
      inputTokens: { total: 100, noCache: 10, cacheRead: 60, cacheWrite: 30 },
      outputTokens: { total: 7, text: 6, reasoning: 1 },
    });
    const chars = askFor().prompt[0]?.content.length ?? 0;
    expect(await usageOf(undefined)).toMatchObject({
      inputTokens: { total: Math.ceil(chars / 4), cacheRead: 0 },
      outputTokens: { total: 3, text: 2, reasoning: 1 },
    });
    expect((await usageOf('none')).inputTokens.total).toBeUndefined();
  });

  test('may be a function of the request, whose result is not filled in', async () => {
    const model = rehearse([{ reply: (asked) => `{{goal}} ${JSON.stringify({ ...asked, messages: 0, system: 0 })}` }]);
    const asked = askFor({
      agent: 'scout',
      goal: 'Go',
      turns: [{ find: 'x' }, { find: 'tea', read: 'leaf' }],
      tools: ['find'],
    });
    const said = await textOf(model, asked);
    expect(said.startsWith('{{goal}} ')).toBe(true);
    expect(JSON.parse(said.slice(9))).toEqual({
      agent: 'scout',
      turn: 3,
      goal: 'Go',
      system: 0,
      messages: 0,
      tools: ['find'],
      lastText: 'tea\nleaf',
      toolResults: [
        { tool: 'find', id: 'call_2_1', text: 'tea', ok: true },
        { tool: 'read', id: 'call_2_2', text: 'leaf', ok: true },
      ],
    });
  });

  test('fills the goal and the results into texts and arguments in a single pass', async () => {
    const model = rehearse([
      { when: { turn: 2 }, reply: 'On {{ goal }}: {{results}}; {{other}}' },
      { reply: { calls: [{ tool: 'a', args: { q: ['{{goal}}'], n: 1 } }] } },
    ]);
    const { content } = await model.doGenerate(askFor({ goal: 'say "{{results}}"' }));
    expect(content).toMatchObject([{ input: JSON.stringify({ q: ['say "{{results}}"'], n: 1 }) }]);
    expect(await textOf(model, askFor({ goal: 'G', turns: [{ a: '1', b: '{{goal}}' }] }))).toBe(
      'On G: 1\n{{goal}}; {{other}}',
    );
  });
});

describe('a line', () => {
  const fits: readonly [string, ScriptLine['when'], boolean][] = [
    ['its agent', { agent: 'lead' }, true],
    ['no part of an agent name', { agent: 'lea' }, false],
    ['its turn', { turn: 2 }, true],
    ['no other turn', { turn: 1 }, false],
    ['a part of the newest text', { text: 'green' }, true],
    ['a part of the goal', { text: 'coffee' }, true],
    ['no text of an older turn or the system', { text: 'brief' }, false],
    ['a pattern', { pattern: /GREEN\s\w+/i }, true],
    ['a pattern written as text', { pattern: '/^compare .*coffee$/i' }, true],
    ['a pattern with memory every time', { pattern: /green/g }, true],
    ['no other pattern', { pattern: '/GREEN/' }, false],
    ['all of its conditions', { agent: 'lead', turn: 2, text: 'green', pattern: /tea/ }, true],
    ['not some of its conditions', { agent: 'lead', turn: 3, text: 'green' }, false],
    ['a predicate', (asked) => asked.toolResults.length === 1, true],
    ['no other predicate', () => false, false],
    ['everything without conditions', undefined, true],
  ];
  test.each(fits)('fits %s', async (_, when, expected) => {
    const model = rehearse([{ ...(when === undefined ? {} : { when }), reply: 'yes' }, { reply: 'no' }]);
    for (let round = 0; round < 2; round++)
      expect(await textOf(model, askFor({ turns: [{ find: 'green tea' }] }))).toBe(expected ? 'yes' : 'no');
  });

  test('answers before later ones, and as many times as it says', async () => {
    const model = rehearse([{ times: 2, reply: 'first' }, { reply: 'then' }]);
    const said = [];
    for (let round = 0; round < 4; round++) said.push(await textOf(model, askFor()));
    expect(said).toEqual(['first', 'first', 'then', 'then']);
  });

  test('that has answered nothing is listed as unused', async () => {
    const lines = [{ when: { agent: 'other' }, reply: 'a' }, { reply: 'b' }, { reply: 'c' }];
    const model = rehearse(lines);
    await textOf(model, askFor());
    expect(model.unused()).toEqual([
      { index: 0, line: lines[0] },
      { index: 2, line: lines[2] },
    ]);
  });
});

describe('a request that no line fits', () => {
  // invariant: rehearsal-strict
  test('is an error that describes the request and why the closest line does not fit', async () => {
    const model = rehearse([
      { when: { agent: 'other', turn: 3, text: 'milk' }, reply: 'a' },
      { when: { agent: 'lead', turn: 1 }, reply: 'b' },
    ]);
    const asked = askFor({ turns: [{ find: 'tea '.repeat(100) }], tools: ['find', 'read'] });
    const failure = await failureOf(model.doStream(asked));
    expect(failure.code).toBe('model_unscripted');
    expect(failure.failure.detail).toBe(
      `Request: agent "lead", turn 2, last text "${'tea '.repeat(100).slice(0, 119)}…", goal "Compare tea and coffee", ` +
        'tools find, read. 2 lines were tried; the closest, lines[1]: it expects turn 1, not 2.',
    );
  });

  test('because its line is used up is reported as such', async () => {
    const model = rehearse([{ when: { text: 'tea' }, times: 1, reply: 'a' }]);
    await textOf(model, askFor());
    expect((await failureOf(model.doGenerate(askFor()))).message).toContain('lines[0]: it is used up (times: 1)');
  });

  test('gets a polite answer if the script is not strict', async () => {
    expect(await textOf(rehearse({ lines: [], strict: false }), askFor())).toBe(unscriptedText);
    expect(await textOf(rehearse([], { strict: false }), askFor())).toBe(unscriptedText);
    expect(
      (await failureOf(rehearse({ lines: [], strict: false }, { strict: true }).doStream(askFor()))).message,
    ).toContain('0 lines were tried.');
  });
});

describe('requests', () => {
  test('are kept as they were, and cannot be changed', async () => {
    const model = rehearse([{ reply: 'a' }]);
    const signal = new AbortController().signal;
    const asked = { ...askFor(), temperature: 0.5, abortSignal: signal };
    await readParts(model, asked);
    asked.prompt.push({ role: 'user', content: [{ type: 'text', text: 'later' }] });
    const [kept] = model.requests;
    expect(kept).toEqual({ ...askFor(), temperature: 0.5, abortSignal: signal });
    expect(kept?.abortSignal).toBe(signal);
    expect(() => kept?.prompt.pop()).toThrow(TypeError);
    expect(kept && agentNameIn(kept.prompt)).toBe('lead');
  });

  test('that failed are kept too', async () => {
    const model = rehearse([]);
    await failureOf(model.doStream(askFor()));
    expect(model.requests).toHaveLength(1);
  });

  test('are not kept if `keepRequests` is false', async () => {
    const model = rehearse([{ reply: 'a' }], { keepRequests: false });
    await readParts(model, askFor());
    expect(model.requests).toEqual([]);
  });
});

test('the model has the given name, price and sizes', () => {
  const price = { input: 1, output: 5 };
  const model = rehearse({ lines: [], modelId: 'small', price, contextTokens: 8000, maxOutputTokens: 500 });
  expect(model).toMatchObject({ specificationVersion: 'v4', provider: 'rehearsal', modelId: 'small' });
  expect(model.model).toEqual({
    language: model,
    price,
    contextTokens: 8000,
    maxOutputTokens: 500,
    attachments: ['*/*'],
  });
  expect(rehearse([], { modelId: 'other' }).modelId).toBe('other');
  expect(rehearse([]).model.price).toBeUndefined();
});

test('an agent is recognised only by the line of the guidance', () => {
  expect(agentNameIn(askFor({ agent: 'a.b-c' }).prompt)).toBe('a.b-c');
  expect(agentNameIn([{ role: 'user', content: [{ type: 'text', text: 'You are the agent "x".' }] }])).toBeNull();
  expect(agentNameIn([{ role: 'system', content: 'Say: You are the agent "x".' }])).toBeNull();
});

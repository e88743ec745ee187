// For any messages and any window: the request fits, SYSTEM and the goal are whole, pairs are whole, order is kept.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { recordFormats } from '#base';
import type { CellId, Hash, Json } from '#base';
import type { Category, Crossed, History, ReplyPart, Segment, Settlement, SharedMessage } from '#contracts';
import type { Cell } from '#core/memory';
import { fitWindow, defaultTokensPerByte, shareableContext, showReceived, ContextWindow } from '#core/memory';
import { testRuns } from '../../test-seed.ts';

type AddedContent = { readonly kind: 'share' | 'history' | 'note'; readonly content: string };
type Turn = { readonly text: string; readonly reasoning: string | null; readonly outputs: readonly string[] };
type Story = {
  readonly prompt: string;
  readonly given: readonly AddedContent[];
  readonly goal: string;
  readonly turns: readonly (Turn & { readonly late: readonly AddedContent[] })[];
};

/** A cell with only the records that a window looks up. */
const cellOf = ({ prompt, goal, given, turns }: Story) => {
  const agent = defineAgent({ name: 'solo', description: 'Works.', prompt });
  const journal = new Map<number, Settlement<Json>>();
  const arrived = [{ kind: 'goal', content: goal }, ...given, ...turns.flatMap(({ late }) => late)];
  const runtime = {
    runStartedAt: 0,
    format: recordFormats.newest,
    received: { at: (seq: number) => arrived[seq] },
  };
  const cell = { agent, runtime, settled: (no: number) => journal.get(no) } as unknown as Cell;
  return { cell, journal };
};

/** Plays a story into a window, as a session does. */
const play = (story: Story): ContextWindow => {
  const { cell, journal } = cellOf(story);
  const window = new ContextWindow(cell);
  let seq = 1;
  const give = ({ kind, content }: AddedContent): void => {
    const ends = { cell: 'c' as CellId, from: 'outside', to: 'c' as CellId } as const;
    showReceived(window, { ...ends, kind, content, seq: seq++, labels: [] } as unknown as Crossed, 'solo');
  };
  story.given.forEach(give);
  window.add({ rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] }, 'DIALOG');
  let no = 0;
  for (const { text, reasoning, outputs, late } of story.turns) {
    const calls = outputs.map((_, index): ReplyPart => ({
      type: 'call',
      id: `${no}-${index}`,
      name: 'talk',
      input: '{}',
    }));
    const thought: ReplyPart[] =
      reasoning === null ? [] : [{ type: 'reasoning', text: reasoning, meta: { p: { signature: `signed ${no}` } } }];
    const parts: ReplyPart[] = [...thought, { type: 'text', text }, ...calls];
    const reply = no++;
    journal.set(reply, { at: 0, ok: true, value: { parts, finish: 'stop', usage: null } as unknown as Json });
    window.add({ rule: 'reply@1', of: parts.map((_, part) => ({ from: 'reply', no: reply, part })) }, 'DIALOG');
    outputs.forEach((output, index) => {
      const op = no++;
      journal.set(op, { at: 0, ok: true, value: { text: output } });
      const call = { from: 'reply', no: reply, part: thought.length + 1 + index } as const;
      window.add({ rule: 'tool-result@1', of: [call, { from: 'operation', no: op }] }, 'TOOLS');
    });
    late.forEach(give);
  }
  return window;
};

const words = (max: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength: max });
const long = fc.oneof(
  words(40),
  fc.tuple(words(6), fc.nat(400)).map(([word, times]) => word.repeat(times + 1)),
);
const category = fc.constantFrom('CONTEXT' as const, 'DIALOG' as const);
const history: fc.Arbitrary<AddedContent> = fc
  .array(fc.record({ agent: fc.constantFrom(null, 'solo', 'other'), category, text: long }), { maxLength: 6 })
  .map((entries) => ({
    kind: 'history',
    content: JSON.stringify({ conversation: 'c', leftOut: 0, entries } satisfies History),
  }));
const share: fc.Arbitrary<AddedContent> = fc
  .array(fc.record({ category: fc.constant('CONTEXT' as const), text: long }), { maxLength: 3 })
  .map((messages) => ({ kind: 'share', content: JSON.stringify(messages satisfies readonly SharedMessage[]) }));
const note: fc.Arbitrary<AddedContent> = words(60).map((content) => ({ kind: 'note', content }));
const turn = fc.record({
  text: long,
  reasoning: fc.option(words(30)),
  outputs: fc.array(long, { maxLength: 3 }),
  late: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(fc.oneof(history, note), { maxLength: 2 })),
});
const story: fc.Arbitrary<Story> = fc.record({
  prompt: words(80),
  given: fc.array(fc.oneof(history, share), { maxLength: 2 }),
  goal: words(60),
  turns: fc.array(turn, { maxLength: 12 }),
});
/** The limit as a share of the window's content: from almost nothing to more than enough. */
const tightness = fc.oneof(fc.double({ min: 0, max: 1.2, noNaN: true }), fc.constantFrom(0, 0.05, 0.5));

const isAnswered = (prompt: readonly LanguageModelV4Message[]): boolean => {
  const open: string[] = [];
  for (const { role, content } of prompt) {
    if (role === 'tool')
      for (const part of content) if (open.shift() !== ('toolCallId' in part ? part.toolCallId : '')) return false;
    if (role !== 'tool' && open.length > 0) return false;
    if (role === 'assistant') for (const part of content) if (part.type === 'tool-call') open.push(part.toolCallId);
  }
  return open.length === 0;
};

const fixedIn = (view: readonly Segment[]): readonly Segment[] =>
  view.filter(({ category: kind, origin }) => kind === 'SYSTEM' || origin.rule === 'goal@1');
const bytesOf = (segments: readonly Segment[]): number => segments.reduce((sum, { bytes }) => sum + bytes, 0);
const kept = (view: readonly Segment[], kind: Category): readonly number[] =>
  view.flatMap(({ id, category: one }) => (one === kind ? [id] : []));
const limit = { settings: 'settings' as Hash, window: { tokens: 1, by: 'given' }, reply: { tokens: 1 } } as const;

describe('for any messages and any window size', () => {
  test('the request fits, unless SYSTEM and the goal alone do not', () =>
    fc.assert(
      fc.property(story, tightness, (drawn, share_) => {
        const window = play(drawn);
        const fixed = fixedIn(window.view);
        const tokens = Math.max(1, Math.ceil(window.bytes * defaultTokensPerByte * share_));
        const fits = fitWindow(window, { tokens, tokensPerByte: defaultTokensPerByte });
        expect(fits).toBe(bytesOf(fixed) <= Math.floor(tokens / defaultTokensPerByte));
        if (fits) expect(window.bytes * defaultTokensPerByte).toBeLessThanOrEqual(tokens);
        expect(bytesOf(window.view)).toBe(window.bytes);
      }),
      { numRuns: testRuns(2_000) },
    ));

  // invariants: window-keeps-goal, fit-keeps-goal, fit-keeps-pairs
  test('SYSTEM and the goal are whole and in place, calls have their results, order and attribution hold', () =>
    fc.assert(
      fc.property(story, fc.array(tightness, { minLength: 1, maxLength: 3 }), (drawn, steps) => {
        const window = play(drawn);
        const fixed = fixedIn(window.view);
        for (const step of steps) {
          const tokens = Math.max(1, Math.ceil(window.bytes * defaultTokensPerByte * step));
          fitWindow(window, { tokens, tokensPerByte: defaultTokensPerByte });
          expect(fixedIn(window.view)).toEqual(fixed);
          const { request, attempt } = window.render(1, 'm', limit);
          expect(isAnswered(request.prompt)).toBe(true);
          expect(window.matchesRequest(request, attempt)).toBe(true);
          // Untouched segments keep their original order.
          const untouched = window.view.filter(
            ({ origin }) => !['compact@1', 'recap@1', 'shorten@1'].includes(origin.rule),
          );
          const ids = untouched.map(({ id }) => id);
          expect(ids).toEqual([...ids].sort((one, other) => one - other));
        }
      }),
      { numRuns: testRuns(1_000) },
    ));

  test('reasoning that is still shown keeps its original signature', () => {
    let seen = 0;
    fc.assert(
      fc.property(story, tightness, (drawn, step) => {
        const window = play(drawn);
        fitWindow(window, {
          tokens: Math.max(1, Math.ceil(window.bytes * defaultTokensPerByte * step)),
          tokensPerByte: defaultTokensPerByte,
        });
        for (const { part } of window.view) {
          if (!('message' in part) || part.message.role !== 'assistant') continue;
          for (const item of part.message.content) {
            if (item.type !== 'reasoning') continue;
            expect(item.providerOptions?.['p']?.['signature']).toMatch(/^signed \d+$/u);
            seen++;
          }
        }
      }),
      { numRuns: 500 },
    );
    expect(seen).toBeGreaterThan(100);
  });
});

describe('what is trimmed', () => {
  const context = (text: string): AddedContent => ({
    kind: 'history',
    content: JSON.stringify({ conversation: '', leftOut: 0, entries: [{ agent: null, category: 'CONTEXT', text }] }),
  });
  const drawn: Story = {
    prompt: 'Work.',
    given: [context('Known. '.repeat(100))],
    goal: 'Do it.',
    turns: Array.from({ length: 6 }, (_, index) => ({
      text: `Step ${index}. ${'said '.repeat(100)}`,
      reasoning: null,
      outputs: [`${index} `.repeat(800)],
      late: [],
    })),
  };
  const fit = (room: number): ContextWindow => {
    const window = play(drawn);
    fitWindow(window, { tokens: room, tokensPerByte: defaultTokensPerByte });
    return window;
  };
  const rulesOf = (window: ContextWindow): readonly string[] => [
    ...new Set(window.view.map(({ origin }) => origin.rule)),
  ];

  // invariant: fit-order
  test('tool outputs come first: dialog and context stay unchanged', () => {
    const whole = play(drawn);
    const window = fit(Math.floor(whole.bytes * defaultTokensPerByte) - 1);
    expect(rulesOf(window)).toContain('shorten@1');
    expect(rulesOf(window)).not.toContain('compact@1');
    expect(kept(window.view, 'CONTEXT')).toEqual(kept(whole.view, 'CONTEXT'));
    // The newest output is whole.
    expect(window.view.at(-1)!.origin.rule).toBe('tool-result@1');
  });

  // invariant: fit-order
  test('then dialog becomes lines, the oldest first; context is still there', () => {
    const window = fit(1_400);
    expect(rulesOf(window)).toContain('compact@1');
    expect(kept(window.view, 'CONTEXT')).toHaveLength(1);
    expect(window.view.at(-2)!.origin.rule).toBe('reply@1');
  });

  // invariant: fit-order
  test('context is dropped last, and SYSTEM and the goal stay', () => {
    const window = fit(120);
    expect(kept(window.view, 'CONTEXT')).toEqual([]);
    expect(fixedIn(window.view)).toHaveLength(2);
    expect(window.bytes * defaultTokensPerByte).toBeLessThanOrEqual(120);
  });

  // invariant: fit-shares-first
  test('dialog keeps its share of the window if that leaves enough room', () => {
    const window = fit(2_000);
    const left = 2_000 / defaultTokensPerByte - bytesOf(fixedIn(window.view));
    const dialog = bytesOf(window.view.filter((segment) => segment.category === 'DIALOG'));
    expect(rulesOf(window)).toContain('compact@1');
    expect(dialog).toBeGreaterThanOrEqual(0.45 * left);
  });

  // invariant: fit-frees-half
  test('more is trimmed than necessary, so that the next turn need not make room again', () => {
    const window = fit(3_000);
    expect(window.bytes * defaultTokensPerByte).toBeLessThanOrEqual(2_200);
  });
});

describe('what is shared', () => {
  test('is CONTEXT, whether or not there was room for it; never dialog, outputs, notes, or summaries of them', () =>
    fc.assert(
      fc.property(story, tightness, (drawn, step) => {
        const window = play(drawn);
        const before = shareableContext(window.context, ['system', 'context']);
        const tokens = Math.max(1, Math.ceil(window.bytes * defaultTokensPerByte * step));
        fitWindow(window, { tokens, tokensPerByte: defaultTokensPerByte });
        expect(shareableContext(window.context, ['context'])).toEqual(before);
        for (const { origin } of window.context) expect(['history@1', 'share@1']).toContain(origin.rule);
        expect(before.every(({ category: kind }) => kind === 'CONTEXT')).toBe(true);
        expect(shareableContext(window.context, ['system'])).toEqual([]);
      }),
      { numRuns: 500 },
    ));
});

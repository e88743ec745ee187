import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CellId, RunId } from '#base';
import { defineAgent } from 'cloister';
import type { RunEvent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { answerPieces } from '../../../src/app/serve/answer-pieces.ts';
import type { AnswerPiece, RunOutcome } from '#contracts';
import { serveAgents } from '../../headends/http/driver.ts';
import { collectAll } from './collect-all.ts';

/** The root's text in one attempt, as pieces, with events of other cells in between. */
type Attempt = { readonly pieces: readonly string[]; readonly between: readonly InterleavedEvent[] };
type InterleavedEvent =
  | 'child-text'
  | 'child-reset'
  | 'child-start'
  | 'child-end'
  | 'reasoning'
  | 'tool-start'
  | 'wait-start';

const piece = fc.oneof(
  fc.stringMatching(/^[a-c]{1,4}$/u),
  fc.constantFrom(' ', '\n', '\n\n', '\t a', 'b ', ' c ', '\u{1F600}', ''),
);
const between = fc.constantFrom<InterleavedEvent[]>(
  'child-text',
  'child-reset',
  'child-start',
  'child-end',
  'reasoning',
  'tool-start',
  'wait-start',
);
const attempt: fc.Arbitrary<Attempt> = fc.record({
  pieces: fc.array(piece, { maxLength: 6 }),
  between: fc.array(between, { maxLength: 6 }),
});

const cellFields = (cell: string) => ({ run: 'run' as RunId, cell: cell as CellId, agent: cell });
const durableEvent = (type: string, more: object = {}): RunEvent =>
  ({ type, ...cellFields('root'), id: 'root/1', at: 0, tool: 'helper', ok: true, ...more }) as unknown as RunEvent;
const mark = 'CHILD';
const events: Readonly<Record<InterleavedEvent, RunEvent>> = {
  'child-text': { type: 'text-delta', text: mark, ...cellFields('child') },
  'child-reset': { type: 'text-reset', ...cellFields('child') },
  'child-start': durableEvent('child-start'),
  'child-end': durableEvent('child-end'),
  reasoning: { type: 'reasoning-delta', text: mark, ...cellFields('root') },
  'tool-start': durableEvent('tool-start', { args: mark }),
  'wait-start': durableEvent('wait-start', { ms: 5 }),
};

const eventsOf = (attempts: readonly Attempt[], lagAt: number | null): readonly RunEvent[] => {
  const all: RunEvent[] = [durableEvent('session-start')];
  for (const { pieces, between: others } of attempts) {
    all.push({ type: 'text-reset', ...cellFields('root') });
    for (let place = 0; place < Math.max(pieces.length, others.length); place++) {
      if (pieces[place] !== undefined) all.push({ type: 'text-delta', text: pieces[place]!, ...cellFields('root') });
      if (others[place] !== undefined) all.push(events[others[place]!]);
    }
  }
  if (lagAt === null) return all;
  // Over some stretch, live pieces are left out, including resets.
  const from = 1 + (lagAt % all.length);
  const to = from + (lagAt % 7);
  const kept = all.filter((event, place) => place < from || place >= to || 'id' in event);
  return kept.toSpliced(from, 0, { type: 'text-lag', ...cellFields('child') });
};

const piecesOf = async (
  all: readonly RunEvent[],
  output: string,
  options: { readonly answerOnly: boolean; readonly activity: boolean },
): Promise<readonly AnswerPiece[]> => {
  const source = (async function* () {
    yield* all;
  })();
  return collectAll(answerPieces(source, Promise.resolve({ output } as RunOutcome), options));
};

const textIn = (pieces: readonly AnswerPiece[]): string =>
  pieces
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text)
    .join('');

/** An answer as the runtime makes it from a reply, or one that was never streamed, or a part of it. */
const answerOf = (attempts: readonly Attempt[], how: number): string => {
  const last = (attempts.at(-1)?.pieces ?? []).join('');
  return [last, last, last, `${last}tail`, last.slice(0, 2), 'another', ''][how]!;
};

describe('a streamed answer', () => {
  const cases = fc.record({
    attempts: fc.array(attempt, { maxLength: 4 }),
    lagAt: fc.option(fc.nat(40)),
    how: fc.nat(6),
    activity: fc.boolean(),
  });

  // invariant: answer-text-complete
  test('ends with the whole answer, whatever was said, repeated or left out before', () =>
    fc.assert(
      fc.asyncProperty(cases, async ({ attempts, lagAt, how, activity }) => {
        const output = answerOf(attempts, how);
        const pieces = await piecesOf(eventsOf(attempts, lagAt), output, { answerOnly: false, activity });
        expect(textIn(pieces).endsWith(output)).toBe(true);
        expect(pieces.every(({ text }) => text !== '')).toBe(true);
        expect(pieces.every(({ text }) => !text.includes(mark))).toBe(true);
        if (!activity) expect(pieces.every(({ type }) => type === 'text')).toBe(true);
      }),
      { numRuns: 2_000 },
    ));

  // invariant: answer-text-exact
  test('is only the answer when it was said once and nothing was left out', () =>
    fc.assert(
      fc.asyncProperty(attempt, fc.boolean(), async (one, activity) => {
        const output = answerOf([one], 0);
        const pieces = await piecesOf(eventsOf([one], null), output, { answerOnly: false, activity });
        expect(textIn(pieces)).toBe(output);
      }),
      { numRuns: 1_000 },
    ));

  test('with missing pieces is completed, without a gap', () =>
    fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.nat(8), fc.nat(8), async (pieces, from, missing) => {
        const output = pieces.join('');
        const saidText = pieces.map((text): RunEvent => ({ type: 'text-delta', text, ...cellFields('root') }));
        const lag: RunEvent = { type: 'text-lag', ...cellFields('root') };
        const all = [durableEvent('session-start'), ...saidText.toSpliced(from, missing, lag)];
        expect(textIn(await piecesOf(all, output, { answerOnly: false, activity: false }))).toBe(output);
      }),
    ));

  // invariant: answer-text-exact
  test('is only the answer where nothing else is wanted', () =>
    fc.assert(
      fc.asyncProperty(cases, async ({ attempts, lagAt, how, activity }) => {
        const output = answerOf(attempts, how);
        const pieces = await piecesOf(eventsOf(attempts, lagAt), output, { answerOnly: true, activity });
        expect(pieces.filter(({ type }) => type === 'text').map(({ text }) => text)).toEqual(
          output === '' ? [] : [output],
        );
      }),
      { numRuns: 1_000 },
    ));

  test('of a real run contains nothing its children say, and reports activity only where that is wanted', async () => {
    const child = defineAgent({
      name: 'clerk',
      description: 'Looks up.',
      prompt: 'p',
      models: [rehearse([{ reply: `${mark} says a lot of words here.` }])],
    });
    const lead = (): ReturnType<typeof defineAgent> =>
      defineAgent({
        name: 'lead',
        description: 'Leads.',
        prompt: 'p',
        agents: [child],
        models: [
          rehearse([
            {
              when: { turn: 1 },
              reply: { text: 'Let me ask.', calls: [{ tool: 'clerk', args: { prompt: 'Look.' } }] },
            },
            { reply: { pieces: [' \n', 'Here ', 'is the answer.', ' \n'] } },
          ]),
        ],
      });
    for (const activity of [false, true]) {
      const { ask } = await serveAgents({ agents: [lead()], clients: { activity } });
      const messages = [{ role: 'user', content: 'Go.' }];
      const response = await ask('/v1/chat/completions', { json: { model: 'lead', messages, stream: true } });
      const chunks = (await response.text())
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)) as { choices: { delta: Record<string, string> }[] });
      const saidText = (field: string): string => chunks.map(({ choices }) => choices[0]?.delta[field] ?? '').join('');
      expect(saidText('content')).toBe('Let me ask.\n\n \nHere is the answer. \n');
      expect(saidText('reasoning_content')).toBe(activity ? 'lead calls clerk\nclerk answered\n' : '');
    }
  });
});

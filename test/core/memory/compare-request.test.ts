import { expect, test } from 'vitest';
import type { Segment, ViewChange } from '#contracts';
import { compareRequest, nothingCompared } from '../../../src/core/memory/compare-request.ts';

/** A session in which each request shows one more message; `seen` counts how often one is compared. */
const startSession = () => {
  const view: Segment[] = [];
  const prompt: Extract<Segment['part'], { message: unknown }>['message'][] = [];
  const session = { compared: 0, view, prompt, next: (): boolean => true };
  let before = nothingCompared;
  session.next = () => {
    const message = { role: 'user' as const, content: [{ type: 'text' as const, text: `${view.length}` }] };
    const known = { id: view.length, origin: { rule: 'goal@1' as const, of: [] }, category: 'DIALOG' as const };
    const segment = { ...known, bytes: 1, chars: 1, tokens: 1 };
    view.push(
      Object.defineProperty(segment, 'part', { get: () => (session.compared++, { message }) }) as unknown as Segment,
    );
    prompt.push(message);
    const changes: ViewChange[] = [{ add: [{ ...known, origin: view.at(-1)!.origin, bytes: 1 }] }];
    const after = compareRequest({ prompt: [...prompt], tools: [] }, { view, changes }, before);
    before = after ?? nothingCompared;
    return after !== null;
  };
  return session;
};

// invariant: compared-once
test('a message is compared at most three times, however many turns there are', () => {
  for (const turns of [100, 1_000, 10_000]) {
    const session = startSession();
    for (let turn = 0; turn < turns; turn++) expect(session.next()).toBe(true);
    expect(session.compared).toBeLessThanOrEqual(3 * turns);
  }
});

test('an early message that was changed behind its back is found when the view has doubled at the latest', () => {
  const session = startSession();
  for (let turn = 0; turn < 20; turn++) session.next();
  session.prompt[3] = { role: 'user', content: [{ type: 'text', text: 'Something else.' }] };
  let turns = 20;
  while (session.next()) turns++;
  expect(turns).toBeLessThan(40);
});

// Whatever a team does, AG-UI's own client accepts its streams, and the thread ends with the answer.
// invariants: ag-ui-one-run, ag-ui-closed, activity-answer-last, activity-once
import fc from 'fast-check';
import { rehearse } from 'cloister/testkit';
import { beforeEach, expect, test, vi } from 'vitest';
import type { RunId } from '#base';
import { testRuns } from '../../test-seed.ts';
import { randomTeam } from '../random-team.ts';
import { interruptsOf, serveTeam } from './driver.ts';
import type { SeenRun } from './driver.ts';

beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => undefined));

const ends = ({ types }: SeenRun): readonly string[] =>
  types.filter((type) => type === 'RUN_STARTED' || type === 'RUN_FINISHED' || type === 'RUN_ERROR');

test('the official client accepts the streams of any run, and its last text is the answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.constantFrom('answers' as const, 'contents' as const), async (seed, sees) => {
      const { agents, rng } = randomTeam(seed);
      const served = await serveTeam({}, sees, { agents, model: rehearse([{ reply: 'x' }]), sent: [] });
      const { ann, cloister } = served;
      let seen = await ann.say('go').run();
      for (;;) {
        const last = seen.types.at(-1);
        expect(ends(seen)).toEqual(['RUN_STARTED', last]);
        // The client reports a run that failed as an error, and nothing else.
        if (last === 'RUN_FINISHED') expect(seen.error).toBeNull();
        const interrupts = interruptsOf(seen);
        if (interrupts.length === 0) break;
        seen = await ann.resume(
          interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: { approved: rng.chance(0.6) } })),
        );
      }
      const { run } = (seen.events[0]!['metadata'] as any).cloister as { readonly run: RunId };
      const { cells, output } = await cloister.show(run);
      expect(seen.types.at(-1)).toBe(
        cells[0]!.outcome!.status === 'failed' || output === '' ? 'RUN_ERROR' : 'RUN_FINISHED',
      );
      if (output !== '' && seen.types.at(-1) === 'RUN_FINISHED') expect(ann.texts.at(-1)).toBe(output);
      expect(await cloister.runs()).toHaveLength(1);
      // Every id once, and every call that was made has one result.
      const ids = ann.agent.messages.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const calls = ann.agent.messages.flatMap((message) =>
        message.role === 'assistant' ? (message.toolCalls ?? []) : [],
      );
      const results = ann.agent.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
      expect(results.toSorted()).toEqual(calls.map(({ id }) => id).toSorted());
      await served.close();
    }),
    { numRuns: testRuns(75) },
  );
});

// Whatever a team does, the AI SDK's own chat accepts its streams, and the message ends with the answer.
// invariants: ui-chunks-one-message, ui-stream-done, activity-answer-last, activity-once
import fc from 'fast-check';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { testRuns } from '../../test-seed.ts';
import { eventually } from '../ag-ui/driver.ts';
import { randomTeam } from '../random-team.ts';
import { serveChats, textsOf } from './driver.ts';

test('the official chat accepts the streams of any run, and its last text is the answer', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.constantFrom('answers' as const, 'contents' as const), async (seed, sees) => {
      const { agents, rng } = randomTeam(seed);
      const served = await serveChats({}, sees, { agents, model: rehearse([{ reply: 'x' }]), sent: [] });
      const { chat, cloister } = served;
      await chat.say('go');
      for (;;) {
        const chunks = await chat.chunks();
        const types = chunks.map(({ type }) => type);
        expect(types.filter((type) => ['start', 'finish', 'abort', 'error'].includes(type))).toEqual([
          'start',
          types.at(-1),
        ]);
        const asked = chat.tools.filter((part) => part.state === 'approval-requested');
        if (asked.length === 0) break;
        const before = chat.streams.length;
        for (const { approval } of asked)
          await chat.chat.addToolApprovalResponse({ id: approval.id, approved: rng.chance(0.6) });
        await eventually(() => expect(chat.streams.length).toBeGreaterThan(before));
        await eventually(() => expect(['ready', 'error']).toContain(chat.chat.status));
      }
      const [{ run } = { run: '' }] = await cloister.runs();
      const { cells, output } = await cloister.show(run);
      const hasAnswer = cells[0]!.outcome!.status !== 'failed' && output !== '';
      expect(chat.chat.status).toBe(hasAnswer ? 'ready' : 'error');
      if (hasAnswer) expect(textsOf(chat.last).at(-1)).toBe(output);
      // Every call once, and every one has ended.
      const ids = chat.tools.map(({ toolCallId }) => toolCallId);
      expect(new Set(ids).size).toBe(ids.length);
      for (const part of chat.tools) {
        expect(part.state).toMatch(/^output-/u);
        expect(part).not.toMatchObject({ preliminary: true });
      }
      expect(await cloister.runs()).toHaveLength(1);
      await served.close();
    }),
    { numRuns: testRuns(75) },
  );
});

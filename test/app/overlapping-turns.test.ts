// Two agents take overlapping turns in one conversation: a checkpoint of either is a cut through the messages of both.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Checkpoint, Clock, RunSession } from '#contracts';
import type { ScriptLine } from '#testkit';
import { openTalk, ref, historyLines, takeTurn } from './conversations-driver.ts';

const names = ['lead', 'scout'] as const;
type Name = (typeof names)[number];

/** Each agent waits once in a turn that asks for it, then answers. */
const waitOnRequest: ScriptLine = {
  when: ({ lastText, toolResults }) => /Your task: Wait/u.test(lastText) && toolResults.length === 0,
  reply: { calls: [{ tool: 'wait', args: {} }] },
};
const answers: ScriptLine = {
  when: ({ toolResults }) => toolResults.length > 0,
  reply: ({ agent }) => `${agent ?? ''} waited`,
};

/** A tool whose every call waits until it is released. */
const gatedTool = () => {
  let waiting = Promise.withResolvers<() => void>();
  const tool = {
    name: 'wait',
    description: 'Waits.',
    inputSchema: { type: 'object' as const },
    repeat: 'free' as const,
    execute: () => new Promise<string>((resolve) => waiting.resolve(() => resolve('waited'))),
  };
  const open = async (): Promise<void> => {
    const go = await waiting.promise;
    waiting = Promise.withResolvers();
    go();
  };
  return { tool, open, reached: () => waiting.promise };
};

/** No two moments are the same. */
const tickingClock = (): Clock => {
  let now = 1_000_000;
  return {
    now: () => ++now,
    timer: (ms, due) => {
      const timer = setTimeout(due, ms);
      return () => clearTimeout(timer);
    },
  };
};

const openBoth = async (store?: 'memory') => {
  const gates = { lead: gatedTool(), scout: gatedTool() };
  const talk = await openTalk({
    ...(store === undefined ? {} : { store }),
    clock: tickingClock(),
    says: [answers, waitOnRequest],
    agents: { lead: { tools: [gates.lead.tool] }, scout: { tools: [gates.scout.tool] } },
  });
  await takeTurn(talk, 'Hello.');
  await talk.cloister.conversations.attach(ref('main'), 'scout');
  const turn = (agent: Name, text: string): Promise<RunSession> =>
    talk.cloister.runTurn(agent, text, { conversation: ref('main') });
  /** Releases an agent from its wait, which it must have reached. */
  const letGo = async (agent: Name, session: RunSession): Promise<void> => {
    await gates[agent].open();
    expect((await session.outcome).status).toBe('completed');
  };
  return { ...talk, gates, turn, letGo };
};

const firstTurn = ['person: Hello.', 'lead: lead heard Hello.'];

describe('a checkpoint of one of two overlapping turns', () => {
  // invariant: checkpoint-cut-is-now
  test('in the middle: includes what the other had said by then, though it began later, and nothing it said later', async () => {
    const { cloister, gates, turn, letGo } = await openBoth();
    const one = await turn('lead', 'Wait north.');
    const other = await turn('scout', 'Wait south.');
    await gates.lead.reached();
    await gates.scout.reached();
    const checkpoint = await cloister.checkpoints.create(one.run);
    await letGo('scout', other);
    await letGo('lead', one);
    const restored = await cloister.checkpoints.restore(checkpoint.id);
    await letGo('lead', restored!);
    expect(await historyLines({ cloister }, ref('main'))).toEqual([
      ...firstTurn,
      'person: Wait north.',
      'person: Wait south.',
      'lead: lead waited',
    ]);
  });

  test('at its end: excludes what the other said afterwards, though it began earlier', async () => {
    const { cloister, turn, letGo } = await openBoth();
    const one = await turn('lead', 'Wait north.');
    const other = await turn('scout', 'Wait south.');
    await letGo('scout', other);
    const checkpoint = await cloister.checkpoints.create(other.run);
    await letGo('lead', one);
    expect(await cloister.checkpoints.restore(checkpoint.id)).toBeNull();
    const then = [...firstTurn, 'person: Wait north.', 'person: Wait south.', 'scout: scout waited'];
    expect(await historyLines({ cloister }, ref('main'))).toEqual(then);
    await takeTurn({ cloister }, 'Go on.');
    expect(await historyLines({ cloister }, ref('main'))).toEqual([
      ...then,
      'person: Go on.',
      'lead: lead heard Go on.',
    ]);
  });

  // invariant: checkpoint-cut-is-now
  test('that is over, taken later: reflects the moment that turn ended', async () => {
    const { cloister, turn, letGo } = await openBoth();
    const one = await turn('lead', 'Wait north.');
    const other = await turn('scout', 'Wait south.');
    await letGo('lead', one);
    const was = await historyLines({ cloister }, ref('main'));
    await letGo('scout', other);
    await takeTurn({ cloister }, 'Go on.');
    const checkpoint = await cloister.checkpoints.create(one.run);
    expect(await cloister.checkpoints.restore(checkpoint.id)).toBeNull();
    expect(await historyLines({ cloister }, ref('main'))).toEqual(was);
    expect(was).toEqual([...firstTurn, 'person: Wait north.', 'person: Wait south.', 'lead: lead waited']);
  });
});

type Step =
  | { readonly do: 'turn' | 'letGo'; readonly who: Name }
  | { readonly do: 'checkpoint'; readonly who: Name }
  | { readonly do: 'back'; readonly which: number; readonly how: 'restore' | 'branch' };

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom('turn' as const, 'letGo' as const), who: fc.constantFrom(...names) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('checkpoint' as const), who: fc.constantFrom(...names) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('back' as const),
        which: fc.nat(),
        how: fc.constantFrom('restore' as const, 'branch' as const),
      }),
    },
  ),
  { minLength: 3, maxLength: 14 },
);

// invariant: checkpoint-covers-conversation
test('restoring or branching finds exactly what was there when the checkpoint was taken', () =>
  fc.assert(
    fc.asyncProperty(steps, async (todo) => {
      const { cloister, gates, turn, letGo } = await openBoth('memory');
      const live = new Map<Name, RunSession>();
      const newest = new Map<Name, RunSession>();
      /** The history at the end of a run: checkpoints of it taken later reflect that moment. */
      const atEnd = new Map<string, readonly string[]>();
      const taken: { readonly checkpoint: Checkpoint; readonly was: readonly string[]; readonly who: Name }[] = [];
      const end = async (who: Name): Promise<void> => {
        const session = live.get(who);
        if (session === undefined) return;
        await letGo(who, session);
        live.delete(who);
        atEnd.set(session.run, await historyLines({ cloister }, ref('main')));
      };
      const back = async ({ which, how }: Extract<Step, { do: 'back' }>): Promise<void> => {
        if (taken.length === 0) return;
        for (const who of names) await end(who);
        const { checkpoint, was, who } = taken[which % taken.length]!;
        const { session, conversation } =
          how === 'restore'
            ? { session: await cloister.checkpoints.restore(checkpoint.id), conversation: ref('main') }
            : await cloister.checkpoints.branch(checkpoint.id);
        if (session !== null) await letGo(who, session);
        if (how === 'restore') newest.clear();
        if (how === 'restore' && session !== null) newest.set(who, session);
        const more = session === null ? [] : [`${who}: ${who} waited`];
        expect(await historyLines({ cloister }, conversation!)).toEqual([...was, ...more]);
        if (session !== null) atEnd.set(session.run, [...was, ...more]);
      };
      for (const [index, step] of todo.entries())
        if (step.do === 'back') await back(step);
        else if (step.do === 'letGo') await end(step.who);
        else if (step.do === 'turn' && !live.has(step.who)) {
          const session = await turn(step.who, `Wait ${index}.`);
          await gates[step.who].reached();
          live.set(step.who, session);
          newest.set(step.who, session);
        } else if (step.do === 'checkpoint' && newest.has(step.who)) {
          const { run } = newest.get(step.who)!;
          const checkpoint = await cloister.checkpoints.create(run);
          const was = atEnd.get(run) ?? (await historyLines({ cloister }, ref('main')));
          taken.push({ checkpoint, was, who: step.who });
        }
      for (const who of names) await end(who);
      await cloister.close();
    }),
    { numRuns: 150 },
  ));

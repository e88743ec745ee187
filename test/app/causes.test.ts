// A cause is told to whoever may see causes, at every depth, and shown to no cell but the one in which it happened.
import { expect, test } from 'vitest';
import type { Agent, Cause, RunEvent } from 'cloister';
import { rehearse } from '#testkit';
import type { ScriptedReply } from '#testkit';
import { agent, call, tool } from '../core/session/driver.ts';
import { createFolders, open } from './driver.ts';

type Reply = ScriptedReply | (() => never);
type Case = {
  readonly options: Parameters<typeof agent>[1];
  /** Of the agent that fails; `asks`: how it calls the agent below it. The last one is repeated. */
  readonly replies: (asks: readonly Reply[]) => readonly Reply[];
  readonly cause: Partial<Cause>;
};

const noFile = "ENOENT: no such file or directory, open '/srv/acme/plan.txt'";
const suspended = 'The account acme-7 is suspended.';
const said = (text: string): ScriptedReply => ({ text });
const fail = (text: string) => (): never => {
  throw new Error(text);
};

const failures: Readonly<Record<string, Case>> = {
  'a tool that throws': {
    options: { tools: [tool('read_plan', fail(noFile))] },
    replies: (asks) => [call('read_plan'), ...asks, said('Done.')],
    cause: { what: 'tool', name: 'read_plan', code: 'tool_failed', detail: noFile, ended: false },
  },
  'a provider that refuses': {
    options: { limits: { maxRetries: 0 } },
    replies: (asks) => [...asks, fail(suspended)],
    cause: { what: 'model', name: 'rehearsal/rehearsal', detail: suspended, ended: true },
  },
  'an answer that does not fit': {
    options: { output: { format: 'json', schema: { type: 'object', required: ['acme_town'] } } },
    replies: (asks) => [...asks, said('{"village": 1}')],
    cause: { what: 'answer', code: 'answer_schema', detail: expect.stringContaining('acme_town'), ended: true },
  },
  'a limit': {
    options: { limits: { maxSteps: 2 }, tools: [tool('look', async () => 'Nothing.')] },
    replies: (asks) => [...asks, call('look')],
    cause: { what: 'limit', name: 'max_steps', detail: 'AgentLimitExceeded("max_steps")', ended: true },
  },
};

const names = ['lead', 'hand', 'finger'];

/** Each asks the one below it; the one called `failing` fails. */
const chain = (failing: string, { options, replies }: Case) => {
  const models = names.map((name, depth) => {
    const below = names[depth + 1];
    const asks = below === undefined ? [] : [call(below, { prompt: 'Go on.' })];
    const own = name === failing ? replies(asks) : [...asks, said('Done.')];
    return rehearse([
      {
        reply: ({ turn }) => {
          const reply = own[Math.min(turn, own.length) - 1]!;
          return typeof reply === 'function' ? reply() : reply;
        },
      },
    ]);
  });
  const agents = names.reduceRight<readonly Agent[]>(
    (below, name, depth) => [
      agent(name, { models: [models[depth]!], agents: below, ...(name === failing ? options : {}) }),
    ],
    [],
  );
  return { agents, models };
};

const collect = async (events: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> => {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

/** However deep in JSON a text is quoted, it is found. */
const textOf = (value: unknown): string => JSON.stringify(value).replaceAll('\\', '');

const cases = Object.keys(failures).flatMap((failure) => names.map((name, depth) => ({ failure, name, depth })));

test.each(cases)('the cause of $failure in $name is told to those who see causes only', async (one) => {
  const { failure, name, depth } = one;
  const { agents, models } = chain(name, failures[failure]!);
  const { cloister } = await open(createFolders(), agents);
  const session = cloister.run('lead', 'Find it.');
  const { run } = await session.outcome;

  const causes = await session.causes();
  expect(causes).toMatchObject([{ path: names.slice(0, depth + 1), ...failures[failure]!.cause }]);
  expect((await cloister.show(run)).causes).toEqual(causes);
  expect((await cloister.show(run, { sees: 'causes' })).causes).toEqual(causes);

  const detail = causes[0]!.detail!;
  const told = (await collect(session.events({ sees: 'causes' }))).filter((event) => textOf(event).includes(detail));
  expect(told.map((event) => ('cell' in event ? event.cell : ''))).toContain(causes[0]!.cell);
  expect(textOf(await collect(session.events({ sees: 'answers' })))).not.toContain(detail);
  const { causes: shown, events, cells } = await cloister.show(run, { sees: 'answers' });
  expect(textOf(cells.map(({ outcome }) => outcome?.failure ?? null))).not.toContain(detail);
  expect(shown).toEqual([]);
  expect(textOf(events)).not.toContain(detail);

  expect(models.map(({ requests }) => requests.length > 0)).toEqual([true, true, true]);
  const others = models.filter((_, at) => at !== depth).flatMap(({ requests }) => requests);
  expect(textOf(others)).not.toContain(detail);
});

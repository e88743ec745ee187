// Whoever reads a run is told as much as `sees` says, however it reads: planted words are looked for in everything that each
// reader gives. A new reader does not compile before it is in one of these tables.
// invariants: failure-by-sees, contents-by-token
import { expect, onTestFinished, test } from 'vitest';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import type { Cloister, RunArchive, RunSession } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import type { CallerRun, Sees, ServedRun } from '#contracts';
import { LocalAgentService } from '../../../src/app/serve/local-agent-service.ts';
import { SlotQueue, slotLimitsFor } from '../../../src/app/serve/slot-queue.ts';
import { TokenRegistry } from '../../../src/app/serve/token-registry.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { kinds } from '../../isolation/serve-acts.ts';
import { buildProtocolRequest, getRequest, postRequest } from './crowd-requests.ts';

/** What failures said, at two depths. The first is how the run itself failed. */
const details = ['acme-7-is-suspended', 'acme-8-is-suspended', 'ENOENT-of-acme'];
/** What a tool returned, a model thought and was told. */
const contents = ['read-by-a-tool', 'thought-by-a-model', 'prompt-of-the-hand'];

type CallerSession = NonNullable<CallerRun['session']>;

const hidden: Readonly<Record<Sees, readonly string[]>> = {
  answers: [...details, ...contents],
  causes: contents,
  contents: [],
};
const levels = Object.keys(hidden) as Sees[];

const fail = (text: string): never => {
  throw new Error(text);
};

const toolNamed = (name: string, execute: () => string) => ({ name, inputSchema: { type: 'object' }, execute });

/** It reads one file, cannot read another, asks an agent that fails, and fails. */
const openFailing = async (): Promise<Cloister> => {
  const calls = [{ tool: 'read' }, { tool: 'look' }, { tool: 'hand', args: { prompt: 'Go on.' } }];
  const reply = ({ agent, toolResults }: RequestView): ScriptedReply => {
    if (agent === 'hand') return fail(details[1]!);
    return toolResults.length === 0 ? { reasoning: contents[1]!, calls } : fail(details[0]!);
  };
  const common = { description: 'Fails.', models: [rehearse([{ reply }])], limits: { maxRetries: 0 } };
  const hand = defineAgent({ ...common, name: 'hand', prompt: contents[2]! });
  const tools = [toolNamed('read', () => contents[0]!), toolNamed('look', () => fail(details[2]!))];
  const echo = defineAgent({ ...common, name: 'echo', prompt: 'Fail.', tools, agents: [hand] });
  const cloister = await openCloister({ agents: [echo], store: 'memory' });
  onTestFinished(() => cloister.close());
  return cloister;
};

const collect = async <T>(items: AsyncIterable<T>): Promise<readonly T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

const wordsIn = (value: unknown, words: readonly string[]): readonly string[] => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return words.filter((word) => text.includes(word));
};

/** The methods that take `sees`. */
type SeesReader<T> = {
  [K in keyof T]-?: T[K] extends (...args: infer Args) => unknown
    ? 'sees' extends (Args[number] extends infer Arg ? (Arg extends object ? keyof Arg : never) : never)
      ? K
      : never
    : never;
}[keyof T];

const archiveReaders: Readonly<
  Record<SeesReader<RunArchive>, (archive: RunArchive, run: string, sees: Sees) => Promise<unknown>>
> = {
  show: async (archive, run, sees) => [
    await archive.show(run, { sees }),
    await archive.show(run, { sees, details: true }),
  ],
};

const sessionReaders: Readonly<Record<SeesReader<RunSession>, (session: RunSession, sees: Sees) => Promise<unknown>>> =
  {
    events: async (session, sees) => [
      await collect(session.events({ sees })),
      await collect(session.events({ sees, details: true })),
    ],
  };

test.each(levels)('in code, a reader who sees %s is told no more', async (sees) => {
  const cloister = await openFailing();
  const session = cloister.run('echo', 'Go.');
  const live = Promise.all(Object.values(sessionReaders).map((read) => read(session, sees)));
  const { run } = await session.outcome;
  const told = [
    ...(await live),
    ...(await Promise.all(Object.values(sessionReaders).map((read) => read(session, sees)))),
    ...(await Promise.all(Object.values(archiveReaders).map((read) => read(cloister, run, sees)))),
  ];
  for (const one of told) {
    expect(wordsIn(one, hidden[sees])).toEqual([]);
    expect(wordsIn(one, details)).toEqual(sees === 'answers' ? [] : details);
    expect(wordsIn(one, contents)).toEqual(sees === 'contents' ? contents : []);
  }
});

const servedReaders: Readonly<Record<keyof ServedRun, (run: ServedRun) => unknown>> = {
  run: ({ run }) => run,
  nth: ({ nth }) => nth ?? 1,
  agent: ({ agent }) => agent,
  startedAt: ({ startedAt }) => startedAt,
  outcome: ({ outcome }) => outcome,
  events: (run) => collect(run.events()),
  causes: (run) => run.causes(),
  pieces: (run) => collect(run.pieces()),
  pause: async (run) => (await run.pause?.()) ?? null,
  // It asks nobody.
  asked: () => null,
  cancel: () => null,
};

const refusal = (error: Error): string => error.message;

const callerReaders: Readonly<Record<keyof CallerRun, (run: CallerRun) => unknown>> = {
  summary: ({ summary }) => summary,
  session: async ({ session }) =>
    session === null ? null : Promise.all(Object.values(callerSessionReaders).map((read) => read(session))),
  report: (run) => run.report(),
  causes: (run) => run.causes(),
  attachments: (run) => run.attachments([]),
  dialog: (run) => run.dialog(),
  transcript: (run) => run.transcript().catch(refusal),
  explain: async (run) => {
    const { cells } = await run.report();
    return Promise.all(cells.map(({ cell }) => run.explain(cell).catch(refusal)));
  },
  audit: (run) => run.audit(),
  windows: (run) => run.windows(),
  ledger: (run) => run.ledger(),
  tasks: (run) => run.tasks(),
  mail: (run) => run.mail(),
  conversation: (run) => run.conversation(),
  replay: (run) => run.replay(),
  diff: (run) => run.diff(run.summary.run),
  events: async (run) => [
    await collect(run.events()),
    await Promise.resolve()
      .then(() => collect(run.events({ details: true })))
      .catch(refusal),
  ],
  eventPage: async (run) => [
    await run.eventPage({ limit: 1000 }),
    await run.eventPage({ limit: 1000, details: true }).catch(refusal),
  ],
};

const callerSessionReaders: Readonly<Record<keyof CallerSession, (session: CallerSession) => unknown>> = {
  outcome: ({ outcome }) => outcome,
  answer: (session) => session.answer().catch((error: Error) => [error.message, error]),
  confirm: () => null,
  agents: (session) => session.agents(),
};

const openService = (cloister: Cloister): LocalAgentService =>
  new LocalAgentService({
    cloister,
    agents: ['echo'],
    tokens: new TokenRegistry(
      levels.map((sees) => ({ name: sees, sees, sha256: hashToken(sees) })),
      Date.now,
    ),
    slots: new SlotQueue(slotLimitsFor({}, 1)),
    clients: { system: false, tools: true, activity: true, compat: false },
    clock: systemClock,
  });

const clientTool = { name: 'paint', description: 'Paints.', inputSchema: { type: 'object' } };

test.each(levels.flatMap((sees) => [{ sees }, { sees, tools: [clientTool] }]))(
  'a caller of the service is told no more than it sees: $sees, tools: $tools',
  async ({ sees, ...more }) => {
    const service = openService(await openFailing());
    const caller = { name: sees, sees };
    const served = await service.startRun(caller, { agent: 'echo', input: 'Go.', stream: true, ...more });
    const found = await service.find(caller, served.run);
    const told = [
      ...(await Promise.all(Object.values(callerReaders).map((read) => read(found)))),
      ...(await Promise.all(Object.values(servedReaders).map((read) => read(served)))),
      ...(await Promise.all(
        Object.values(callerReaders).map(async (read) => read(await service.find(caller, served.run))),
      )),
    ];
    for (const one of told) expect(wordsIn(one ?? null, hidden[sees])).toEqual([]);
    expect(wordsIn(told, details)).toEqual(sees === 'answers' ? [] : details);
    expect(wordsIn(told, contents)).toEqual(sees === 'contents' ? contents : []);
  },
);

test('the causes of one answer are the same after the run has ended', async () => {
  const service = openService(await openFailing());
  const caller = { name: 'causes', sees: 'causes' } as const;
  const { run, outcome, cancel } = await service.startRun(caller, { agent: 'echo', input: 'Go.', resident: true });
  const running = await service.find(caller, run);
  const first = await running.session!.answer();
  const message = await service.do(caller, run, { do: 'send', text: 'Again.' });
  const second = await running.session!.answer(message);
  const causesIn = async (found: CallerRun) => [await found.causes(first.id), await found.causes(second.id)];
  const live = await causesIn(running);
  expect(live[1]).toMatchObject([{ code: 'model_server', times: 1 }]);
  cancel();
  await outcome;
  const ended = await service.find(caller, run);
  expect(ended.session).toBeNull();
  expect(await causesIn(ended)).toEqual(live);
  expect(await ended.causes()).not.toEqual(live[1]);
});

const cellsOf = async (cloister: Cloister, runs: readonly { readonly run: string }[]) =>
  (
    await Promise.all(runs.map(async ({ run }) => (await cloister.show(run)).cells.map(({ cell }) => ({ run, cell }))))
  ).flat();

test.each(levels)('over every protocol, a client whose token sees %s is told no more', async (sees) => {
  const cloister = await openFailing();
  const tokens = levels.map((name) => ({ name, sees: name, sha256: hashToken(name) }));
  const server = await openServer(cloister, { tokens, clients: { activity: true } });
  onTestFinished(async () => void (await server.stop(0)));
  const caller = { url: 'http://127.0.0.1:1', token: sees };
  const send = async (request: Request): Promise<string> => (await server.fetch(request)).text();
  const post = (body: object): Promise<string> => send(postRequest(caller, '/v1/echo', body));

  const errors = await Promise.all(
    kinds.map((kind) =>
      send(buildProtocolRequest({ ...caller, kind, word: 'x', conversation: null, history: [] }).request),
    ),
  );
  const [first] = errors;
  for (const text of errors) expect(wordsIn(text, [details[0]!])).toEqual(sees === 'answers' ? [] : [details[0]]);
  const answers = [
    await post({ input: 'Go.', details: true }),
    await post({ input: 'Go.', details: true, stream: true }),
    await post({ input: 'Go.', resident: true, wait: true }),
  ];
  expect(wordsIn(answers[2], details)).toEqual(sees === 'answers' ? [] : details);
  const resident = JSON.parse(answers[2]!) as { run: string };
  const second = JSON.parse(
    await send(postRequest(caller, `/v1/runs/${resident.run}/messages`, { text: 'Again.', answer: true })),
  ) as { error: { message: string }; causes?: readonly object[] };
  // Of the work on this message, not of the work before.
  const again = [{ code: 'model_server', detail: details[0], times: 1, path: ['echo'] }];
  if (sees === 'answers') expect(second.causes).toBeUndefined();
  else expect(second.causes).toMatchObject(again);
  expect(wordsIn(second.error.message, details)).toEqual(sees === 'answers' ? [] : [details[0]]);
  const { runs } = JSON.parse(await send(getRequest(caller, '/v1/runs'))) as { runs: readonly { run: string }[] };
  expect(runs.length).toBe(kinds.length + 3);
  const reports = ['/audit', '/windows', '/ledger', '/tasks', `/diff?with=${runs[0]!.run}`];
  const paths = runs.flatMap(({ run }) =>
    ['', '/messages', '/agents', '/transcript', ...reports]
      .map((path) => `/v1/runs/${run}${path}`)
      .concat(`/v1/responses/resp_${run}`),
  );
  const ended = runs.slice(1).flatMap(({ run }) => [`/v1/runs/${run}/events`, `/v1/runs/${run}/events?details=true`]);
  const read = await Promise.all([
    ...[...paths, ...ended].map((path) => send(getRequest(caller, path))),
    ...runs.map(({ run }) => send(postRequest(caller, `/v1/runs/${run}/replay`, {}))),
    ...(await cellsOf(cloister, runs)).map(({ run, cell }) =>
      send(getRequest(caller, `/v1/runs/${run}/explain?cell=${cell}`)),
    ),
  ]);
  for (const text of [first, ...errors, ...answers, JSON.stringify(second), ...read])
    expect(wordsIn(text, hidden[sees])).toEqual([]);
  expect(wordsIn(read, contents)).toEqual(sees === 'contents' ? contents : []);
});

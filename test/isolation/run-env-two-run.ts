// The two-run comparison over values that code gives to runs: one run is repeated beside another one of the same agents whose
// values differ each time, and every byte that the first run's models, tools and records received is compared. It does not use
// vitest, because a plain process runs it in planted copies.
import fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { chatResponse, withFetch } from './fake-wire.ts';
import type { ChatReply, Sent } from './fake-wire.ts';
import { World } from './fake-world.ts';
import type { Cloister } from './fake-world.ts';
import { firstDifference } from './observer.ts';
import type { Difference, Observation } from './observer.ts';
import { aiFile, temporaryFolder } from './temporary-folder.ts';
import { webHandler } from './web-server.ts';

export type Env = Readonly<Record<'KEY' | 'REGION' | 'TOKEN', string>>;

/** `hops`: how long each request takes; `guess`: what all texts contain. */
export type Scene = { readonly hops: readonly number[]; readonly otherFirst: boolean; readonly guess: string };

const files = {
  '.ai-agent.json': {
    providers: {
      house: {
        type: 'openai-compatible',
        baseUrl: 'http://house.invalid/v1',
        apiKey: '${KEY}',
        headers: { 'x-region': '${REGION:-nowhere}' },
      },
    },
    mcpServers: {
      kit: { module: './kit.mjs' },
      web: { url: 'http://web.invalid/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
    },
  },
  'kit.mjs': `export default [
    { name: 'say', description: 'Says it.', inputSchema: { type: 'object' }, repeat: 'free', execute: ({ text }) => text },
    { name: 'fail', description: 'Fails.', inputSchema: { type: 'object' }, repeat: 'free', execute: ({ text }) => { throw new Error(text); } },
  ];`,
  'lead.ai': aiFile({ models: ['house/m'], tools: ['kit'], agents: ['helper'] }, 'You lead.'),
  'helper.ai': aiFile({ models: ['house/m'], tools: ['web'] }, 'You help.'),
};

const names = ['one', 'other'] as const;

/** What the run called `one` could see while the other run worked. */
export const watchRun = async (
  { openCloister }: Cloister,
  envs: Readonly<Record<(typeof names)[number], Env>>,
  { hops, otherFirst, guess }: Scene,
): Promise<readonly Observation[]> => {
  await using folder = await temporaryFolder(files);
  const web = webHandler(`found ${guess}`, '');
  const seen: Observation[] = [];
  let count = 0;
  const answer = async (sent: Sent, request: () => Request): Promise<Response> => {
    for (let hop = hops[count++ % hops.length]!; hop > 0; hop--) await setImmediate();
    const name = names.find((one) => sent.body.includes(`I am the ${one}.`));
    const isServer = sent.host === 'web.invalid';
    if (name === 'one')
      seen.push({
        sink: isServer ? 'server' : `model of ${sent.body.includes('You lead.') ? 'lead' : 'helper'}`,
        bytes: JSON.stringify([sent.headers['authorization'], sent.headers['x-region'], isServer ? '' : sent.body]),
      });
    return isServer ? web.fetch(request()) : chatResponse(replyTo(sent.body, `I am the ${name}. ${guess}`));
  };
  const world = new World('env', 1_000_000);
  await withFetch(answer, async () => {
    await using cloister = await openCloister({
      store: 'memory',
      agents: ['lead.ai'],
      cwd: folder.path,
      env: { TOKEN: 'token-of-the-operator-0123456789' },
      clock: { now: world.clock.now, timer: () => () => undefined },
      ids: world.ids,
    });
    const start = (name: (typeof names)[number]) =>
      cloister.run('lead', `I am the ${name}. ${guess}`, { env: envs[name] });
    const early = otherFirst ? start('other') : undefined;
    const session = start('one');
    const other = early ?? start('other');
    const [{ output, status }] = await Promise.all([session.outcome, other.outcome]);
    const note = (sink: string, value: unknown): void => {
      const text = JSON.stringify(value).replaceAll(/[0-9a-f]{12}/gu, (id) => (world.drawn.has(id) ? 'id' : id));
      seen.push({ sink, bytes: text });
    };
    note('written: outcome', [status, output]);
    note('written: transcript', (await cloister.transcript(session.run)).cells);
    note('written: events', (await cloister.show(session.run, { details: true })).events);
    note('written: replay', (await cloister.replay(session.run)).ok);
  });
  return seen;
};

/** `lead` uses its tools and asks its helper, which uses its server. */
const replyTo = (body: string, text: string): ChatReply => {
  if (body.includes('"role":"assistant"')) return { text: `Done. ${text}` };
  const call = (name: string, args: object, index: number) => ({
    id: `call_${index}`,
    name,
    input: JSON.stringify(args),
  });
  if (!body.includes('You lead.')) return { calls: [call('web__echo', { mark: text }, 0)] };
  return {
    calls: [call('kit__say', { text }, 0), call('kit__fail', { text }, 1), call('helper', { prompt: text }, 2)],
  };
};

const hex = fc.constantFrom(...'0123456789abcdef');
const strong = fc.array(hex, { minLength: 32, maxLength: 32 }).map((letters) => letters.join(''));
/** Long enough to be searched for, easy to guess. */
const weak = fc
  .tuple(fc.constantFrom('Summer', 'Winter', 'Autumn'), fc.integer({ min: 1990, max: 2029 }))
  .map(([season, year]) => `${season}-${year}!`);
const value = fc.oneof(strong, weak);
export const anyEnv: fc.Arbitrary<Env> = fc.record({ KEY: value, REGION: value, TOKEN: value });

const ownEnv: Env = {
  KEY: 'key-of-the-one-0123456789',
  REGION: 'region-of-the-one',
  TOKEN: 'token-of-the-one-0123456789',
};

export type EnvReport = { readonly runs: number; readonly sights: number; readonly difference: Difference | null };

/** Stops at the first difference. */
export const compareEnvs = async (
  cloister: Cloister,
  { pairs, ...again }: { readonly pairs: number; readonly seed?: number; readonly path?: string },
): Promise<EnvReport> => {
  const seen = { runs: 0, sights: 0 };
  let difference: Difference | null = null;
  const scene = fc.record({
    others: fc.tuple(anyEnv, anyEnv),
    hops: fc.array(fc.nat(5), { minLength: 12, maxLength: 12 }),
    otherFirst: fc.boolean(),
  });
  const property = fc.asyncProperty(scene, async ({ others, ...rest }) => {
    const guess = others.flatMap((env) => Object.values(env)).join(' ');
    const watched: (readonly Observation[])[] = [];
    for (const other of others) watched.push(await watchRun(cloister, { one: ownEnv, other }, { ...rest, guess }));
    seen.runs += watched.length;
    seen.sights += watched.flat().length;
    difference ??= firstDifference(inOrder(watched[0]!), inOrder(watched[1]!));
    return difference === null;
  });
  const details = await fc.check(property, { numRuns: pairs, endOnFailure: true, ...again });
  if (difference === null && details.failed)
    throw new Error(`A run failed: seed ${details.seed}, path ${details.counterexamplePath}`, {
      cause: details.errorInstance,
    });
  return { ...seen, difference };
};

/** The two runs share the network, so the order of requests to different places may differ. */
const inOrder = (observations: readonly Observation[]): readonly Observation[] =>
  observations.toSorted((one, other) => (one.sink < other.sink ? -1 : Number(one.sink > other.sink)));

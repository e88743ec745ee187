// Two callers of one server, two worlds at a time: the worlds differ in everything one of them does. What the other one gets, and
// what its model is shown, is recorded and compared. What a provider says when it fails differs too, unless the token shows it.
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { sha256 } from '#base';
import { defineAgent, openCloister, openServer, hashToken } from 'cloister';
import type { ServerOptions } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';

import type { TokenEntry } from '#contracts';
import { probes } from '../app/serve/crowd-probes.ts';
import { resultsBody, unknownCallId, toolName } from '../app/serve/crowd-tools.ts';
import { seededRng } from '../app/serve/seeded-rng.ts';
import type { SeededRng } from '../app/serve/seeded-rng.ts';
import { patientWorld } from './patient-world.ts';
import type { PatientWorld } from './patient-world.ts';
import {
  approveEnds,
  chatEnds,
  kinds,
  perform,
  reachForOthers,
  readAgain,
  readUnasked,
  residentEnds,
  toolsEnds,
  unknownResponses,
} from './serve-acts.ts';
import type { Act, Actor } from './serve-acts.ts';
import {
  chats,
  conversations,
  disturb,
  glance,
  KnownIds,
  leaveTraces,
  meddle,
  overlook,
  useManyTools,
  watchRuns,
} from './serve-others.ts';
import { aiFile, newTemporaryFolder, writeFiles } from './temporary-folder.ts';

const mark = 'bee';
/** The password of the agent `vault` is one of these; which one differs between the worlds. */
const weakValues = ['Summer2025!', 'Summer2026!', 'Winter2026!', 'my-company-password-2026'];
const guesses = weakValues.join(' ');
const word = fc
  .tuple(fc.constantFrom('plain', 'slow', 'fault', 'tool', 'later'), fc.nat(99))
  .map(([how, no]) => `${mark}-${how}-${no}${no % 3 === 0 ? ` ${guesses}` : ''}`);
const afterMs = fc.nat(400);
const kind = fc.constantFrom(...kinds);
const conversation = fc.constantFrom(...conversations);

const actOf = <Do extends Act['do'], Rest extends object>(
  what: Do,
  rest: { readonly [Name in keyof Rest]: fc.Arbitrary<Rest[Name]> },
): fc.Arbitrary<{ readonly do: Do } & Rest> => fc.record({ do: fc.constant(what), ...rest }) as never;

const wrongBodies: readonly (readonly [path: string, body: string])[] = [
  ...['{', '[]', '{"input":7}', '{"input":"x","budget":{"tokens":-1}}'].map((body) => ['/v1/echo', body] as const),
  ['/v1/chat/completions', JSON.stringify(resultsBody('x', [unknownCallId], 'x'))],
  ['/v1/echo', JSON.stringify({ input: 'x', [guesses]: guesses })],
  ['/v1/echo', `{"input": ${guesses}`],
  ['/v1/chat/completions', JSON.stringify({ model: guesses, messages: [{ role: 'user', content: guesses }] })],
  ['/v1/messages', JSON.stringify({ model: guesses, max_tokens: 9, messages: [] })],
  ['/v1/responses', '{"model":"echo","input":"x","previous_response_id":"resp_ffffffffffff"}'],
];

const guessPaths = weakValues.flatMap((guess) => [`/v1/${guess}?q=x`, `/v1/runs?${guess}=x`]);

/** Only the other caller is told which of these agents there is. */
const deskNames = ['desk-a', 'desk-b', 'desk-c'];

/** What the watched caller does, the same in both worlds. */
export const act: fc.Arbitrary<Act> = fc.oneof(
  actOf('ask', { kind, word, history: fc.boolean() }),
  actOf('continue', { kind: fc.constantFrom('responses' as const, 'responses-sse' as const), word, afterMs }),
  actOf('talk', { word, conversation }),
  actOf('abort', { kind, word, afterMs }),
  actOf('tools', { word, afterMs, end: fc.constantFrom(...toolsEnds) }),
  actOf('read again', {}),
  actOf('resident', { word, conversation: fc.option(conversation), afterMs, end: fc.constantFrom(...residentEnds) }),
  actOf('begin', { word, afterMs, end: fc.constantFrom('cancel' as const, 'watch' as const) }),
  actOf('approve', { word, afterMs, end: fc.constantFrom(...approveEnds) }),
  actOf('chat', { word, chat: fc.constantFrom(...chats), end: fc.constantFrom(...chatEnds) }),
  actOf('connect', { word, afterMs }),
  actOf('get', {
    path: fc.constantFrom(
      ...guessPaths,
      '/v1',
      '/v1/runs',
      '/v1/questions',
      '/v1/me',
      '/v1/conversations',
      ...conversations.map((name) => `/v1/conversations/echo/${name}`),
      '/v1/agents',
      '/v1/dead-letters',
      '/v1/runs?text=e&limit=3',
      '/v1/runs?refused=false',
      '/v1/callers',
      '/v1/models',
      '/v1/nobody?q=x',
      ...deskNames.map((name) => `/v1/${name}?q=x`),
      '/v1/runs/ffffffffffff',
      '/health',
      '/health',
    ),
  }),
  actOf('probe', {
    nth: fc.nat(probes.length - 1),
    whose: fc.constantFrom('own' as const, 'other' as const),
    digits: fc.nat(11).map((n) => n + 1),
  }),
  fc.constantFrom(...wrongBodies).map(([path, body]) => ({ do: 'wrong' as const, path, body })),
);

/** What the token of the watched caller allows, the same in both worlds. */
export type Terms = Pick<TokenEntry, 'agents' | 'budget' | 'allowance' | 'requestsPerMinute' | 'running'>;

export const terms: fc.Arbitrary<Terms> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ requestsPerMinute: fc.integer({ min: 2, max: 20 }) }) },
  { weight: 1, arbitrary: fc.record({ running: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 1, arbitrary: fc.constant({ agents: ['echo'] }) },
  {
    weight: 1,
    arbitrary: fc.record({
      budget: fc.constant({ tokens: 20_000 }),
      allowance: fc.record({
        tokens: fc.integer({ min: 20_000, max: 200_000 }),
        per: fc.constantFrom('hour' as const, 'month' as const),
      }),
    }),
  },
);

/** What the token of the other caller allows is its own business. */
const otherTerms = (rng: SeededRng, desk: string): Terms => ({
  ...(rng.chance(0.3) ? { agents: ['echo', desk] } : {}),
  ...(rng.chance(0.3) ? { requestsPerMinute: 1 + rng.below(50) } : {}),
  ...(rng.chance(0.3) ? { running: 1 + rng.below(4) } : {}),
  ...(rng.chance(0.3)
    ? { budget: { tokens: 20_000 }, allowance: { tokens: 20_000 + rng.below(200_000), per: 'hour' as const } }
    : {}),
});

const url = 'http://127.0.0.1:1';
const [watched, other] = ['clo_watched', 'clo_other'];
/** Tokens that may only watch: one for the runs of the watched caller, and one of the operator for all runs. */
const [glass, board] = ['clo_glass', 'clo_board'];
/** An operator: what it reads, and what it starts on its own, changes nothing for the watched caller. */
const boss = 'clo_boss';
const stepMs = 1_000;
const stallMs = 300;

/** Everything the watched caller and its model saw, with ids numbered in order. */
export const observeWorld = async (
  acts: readonly Act[],
  salt: number,
  allowed: Terms = {},
): Promise<readonly string[]> => {
  const world = patientWorld(salt, Date.UTC(2030, 0, 1));
  const { clock, ids } = world;
  const seen: string[] = [];
  const rng = seededRng(salt);
  const desk = deskNames[salt % deskNames.length]!;
  const sees = acts.length % 2 === 0 ? 'contents' : 'answers';
  const cause = `The account acme-${sees === 'contents' ? 0 : salt} is suspended.`;
  let blockedMs = 0;
  // Work for the other caller blocks the process now and then.
  const stallClock = { steady: () => blockedMs, every: () => () => undefined };
  await using cloister = await openCloister({
    agents: [...agentsOf(world, seen, { block: () => (blockedMs += stallMs), desk, cause }), 'vault.ai'],
    cwd: vaultFolder(),
    env: {
      VAULT_PASSWORD: weakValues[salt % weakValues.length],
      VAULT_KEY: `${'abcd'[salt % 4]}k-lq7Zr2Kx9Wm4Bv8Tn3Hs6`,
    },
    store: 'memory',
    clock,
    ids,
    stallClock,
  });
  const options: ServerOptions = {
    clock,
    ids,
    tokens: [
      { name: 'watched', sha256: hashToken(watched), agents: ['echo', 'vault'], sees, ...allowed },
      { name: 'other', sha256: hashToken(other), ...otherTerms(rng, desk) },
      { name: 'watched', sha256: hashToken(glass), may: ['watch'], sees },
      { name: 'board', sha256: hashToken(board), may: ['watch'], operator: true },
      { name: 'boss', sha256: hashToken(boss), operator: true },
    ],
    clients: { tools: true, system: true },
    clientToolMs: 300_000,
    // Queueing is what one caller may notice of another, so nothing has to queue here.
    slots: { running: 1_000, runningPerAgent: 1_000 },
  };
  const server = await openServer(cloister, options);
  // What the one has started, the other reads as a run that works elsewhere.
  const second = acts.length % 3 === 0 ? await openServer(cloister, options) : server;
  const at = (ms: number): Promise<void> => new Promise((resolve) => void clock.timer(ms, resolve));
  // What operators are shown is of everybody.
  const [known, foreign, shown] = [new KnownIds(), new KnownIds(), new KnownIds()];
  const actor = (token: string, own: KnownIds, others: KnownIds, nth = 0): Actor => ({
    url,
    fetch: (request) => (nth++ % 2 === 0 ? server : second).fetch(request),
    at,
    token,
    last: unknownResponses(),
    onResponse: (text) => own.collect(text),
    newestRun: (whose) => (whose === 'own' ? own : others).newestRun,
  });
  const [one, another] = [actor(watched, known, foreign), actor(other, foreign, known)];
  const noise = Array.from({ length: rng.below(2 * acts.length + 2) }, async () => {
    await at(rng.below(acts.length * stepMs));
    // Some of its requests are refused, or are no longer possible.
    await disturb(another, rng, known).catch(() => undefined);
  });
  // What the operator looks at, and tries to do with a token that may only watch, differs too.
  const looks = seededRng(salt + 1);
  const watching = Array.from({ length: looks.below(acts.length) }, async () => {
    await at(looks.below(acts.length * stepMs));
    if (looks.chance(0.5)) return watchRuns(actor(board, shown, known), looks, known);
    await overlook(actor(boss, shown, known), looks, known).catch(() => undefined);
  });
  const got = acts.map(async (doing, place) => {
    await at(place * stepMs + stepMs / 2);
    const done = await perform(doing, one);
    // The same caller looks through a token that may only watch.
    const seenThrough = place % 3 === 0 ? await glance(actor(glass, known, foreign)) : '';
    return `${doing.do} ${place}: ${done}${seenThrough}`;
  });
  const endMs = acts.length * stepMs;
  // What is kept of a caller's runs with tools is the same after another caller has ended as many as are kept of each.
  noise.push(at(endMs + stepMs).then(() => (rng.chance(0.5) ? useManyTools(another, rng) : undefined)));
  got.push(at(endMs + 3 * stepMs).then(() => readAgain(one)));
  // However few acts there were, each way to what another caller has is tried once: it has something in half of the worlds only.
  noise.push(at(endMs + 4 * stepMs).then(() => (rng.chance(0.5) ? leaveTraces(another, rng) : undefined)));
  got.push(at(endMs + 6 * stepMs).then(() => reachForOthers(one, foreign)));
  const look = looks.chance(0.5);
  got.push(
    at(endMs + 70 * stepMs).then(() =>
      readUnasked(one, async (run) => {
        if (look) await meddle(actor(board, shown, known), run);
      }),
    ),
  );
  const answers = await world.finish(Promise.all(got));
  await world.finish(Promise.all([...noise, ...watching]));
  await world.finish(Promise.all([server.stop(0), second.stop(0)]));
  return namedByOrder([...answers, ...seen]);
};

/** An agent with a password, which no caller of these worlds asks. */
const vaultFolder = (): string => {
  if (vault !== undefined) return vault;
  const path = newTemporaryFolder();
  writeFiles(path, {
    '.ai-agent.json': {
      providers: {
        house: {
          type: 'openai-compatible',
          baseUrl: 'http://x.invalid',
          apiKey: '${VAULT_KEY}',
          headers: { 'x-password': '${VAULT_PASSWORD}' },
        },
      },
    },
    'vault.ai': aiFile({ models: ['house/m'] }),
  });
  process.once('exit', () => rmSync(path, { recursive: true, force: true }));
  return (vault = path);
};
let vault: string | undefined;

/** `block`: blocks the process; `cause`: what the provider says when it refuses a request. */
type WorldFacts = { readonly block: () => void; readonly desk: string; readonly cause: string };

/** Their answers depend on every byte that they were shown. */
const agentsOf = ({ clock }: PatientWorld, seen: string[], { block, desk, cause }: WorldFacts): readonly Agent[] => {
  const reply = ({ messages, goal, turn, tools, lastText, agent }: RequestView): ScriptedReply => {
    const prompt = JSON.stringify(messages);
    if (prompt.includes(`${mark}-`)) seen.push(prompt);
    else block();
    // Handles of sessions and messages are random.
    const shown = prompt.replaceAll(/\b(?:[sm]-[\da-f]{12}|m-[\da-f]{16}-[\da-f]{8})\b/gu, '');
    // Words that begin like the key of the agent `vault`, cut within and after them.
    const pieces = [`It is ${hashLetters(shown)}, a`, 'k-l', ' bk', '-lq7 ck-', 'lq7', ' dk-l'];
    const text = `${pieces.join('')} and ${hashLetters(`${shown}.`)}.`;
    if (agent === 'scout') return { text: `Found ${goal}`, delayMs: 150 };
    // What the scout finds later, a resident tells unasked.
    if (lastText.includes('-later-') && !prompt.includes('sub_agent_id') && tools.includes('spawn_agent'))
      return { calls: [{ tool: 'spawn_agent', args: { agent_id: 'scout', initial_message: lastText.slice(0, 200) } }] };
    if (goal.includes('-approve') && turn === 1)
      return { text, calls: [{ tool: 'send', args: { to: hashLetters(goal) } }] };
    if (tools.includes(toolName) && turn === 1)
      return { text, calls: [{ tool: toolName, args: { word: hashLetters(goal) } }] };
    if (/-fault-\d*[13579]\b/u.test(goal)) throw new Error(cause);
    if (goal.includes('-fault-')) return { fault: 'cut', text, delayMs: 3 };
    if (goal.includes('-slow-'))
      return { pieces: [...pieces, text.slice(pieces.join('').length)], delayMs: 120, pieceDelayMs: 40 };
    if (goal.includes('-tool-') && turn === 1) return { text, calls: [{ tool: 'nothing_like_it' }] };
    return { text };
  };
  const common = {
    description: 'Answers.',
    prompt: 'Answer.',
    limits: { maxRetries: 0 },
    models: [rehearse([{ reply }], { clock, keepRequests: false })],
  };
  const scout = defineAgent({ ...common, name: 'scout' });
  return [
    defineAgent({
      ...common,
      name: 'echo',
      tools: ['spawn_agent', send],
      approve: 'send',
      spawns: { agents: [scout] },
    }),
    defineAgent({ ...common, name: desk }),
  ];
};

/** A person must allow it. */
const send = {
  name: 'send',
  description: 'Sends.',
  inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
  execute: ({ to }: { readonly to?: unknown }) => `Sent to ${String(to)}.`,
};

/** A text that no id can look like. */
const hashLetters = (text: string): string =>
  sha256(text)
    .slice(0, 16)
    .replaceAll(/\d/gu, (digit) => 'ghijklmnop'[Number(digit)]!);

/** The same id has the same name everywhere; so has the hash of a message, a result or a record, which covers ids. */
const namedByOrder = (texts: readonly string[]): readonly string[] => {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `<${names.size}>`;
    names.set(id, name);
    return name;
  };
  return texts.map((text) =>
    text
      .replaceAll(/(?<=call_)[\da-f]{32}/gu, nameOf)
      // Of a message that one server has stored for the other.
      .replaceAll(/(?<=m-)[\da-f]{16}-[\da-f]{8}/gu, nameOf)
      .replaceAll(/(?<="(?:hash|previous|recorded|replayed)\\":\\")[\da-f]{64}/gu, nameOf)
      .replaceAll(/(?<="kind\\":\\"(?:message|result|history)\\"[^{}]*"sha256\\":\\")[\da-f]{64}/gu, nameOf)
      .replaceAll(/(?<="sha256\\":\\")[\da-f]{64}(?=\\",\\"queuedAt)/gu, nameOf)
      .replaceAll(/(?<![\da-f])(?:[\da-f]{12}){1,3}(?![\da-f])/gu, (found) =>
        found.replaceAll(/[\da-f]{12}/gu, nameOf),
      ),
  );
};

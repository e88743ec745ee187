// Two callers of one server, two worlds at a time: the worlds differ in all that one of them does. What the other one gets, and what
// its model is shown, is kept to be compared.
import fc from 'fast-check';
import { sha256 } from '#base';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';

import { hashToken } from '../../src/app/serve/token-registry.ts';
import { bringResults, neverCalled, toolName } from '../app/serve/crowd-tools.ts';
import { drawFrom } from '../app/serve/drawn.ts';
import { patientWorld } from './patient-world.ts';
import type { PatientWorld } from './patient-world.ts';
import { kinds, newest, perform, residentEnds, toolsEnds } from './serve-acts.ts';
import type { Act, Actor } from './serve-acts.ts';
import { conversations, disturb, Known } from './serve-others.ts';

const mark = 'bee';
const word = fc
  .tuple(fc.constantFrom('plain', 'slow', 'fault', 'tool'), fc.nat(99))
  .map(([how, no]) => `${mark}-${how}-${no}`);
const afterMs = fc.nat(400);
const kind = fc.constantFrom(...kinds);
const conversation = fc.constantFrom(...conversations);

const of = <Do extends Act['do'], Rest extends object>(
  what: Do,
  rest: { readonly [Name in keyof Rest]: fc.Arbitrary<Rest[Name]> },
): fc.Arbitrary<{ readonly do: Do } & Rest> => fc.record({ do: fc.constant(what), ...rest }) as never;

const wrongBodies: readonly (readonly [path: string, body: string])[] = [
  ...['{', '[]', '{"input":7}', '{"input":"x","budget":{"tokens":-1}}'].map((body) => ['/v1/echo', body] as const),
  ['/v1/chat/completions', JSON.stringify(bringResults('x', [neverCalled], 'x'))],
  ['/v1/responses', '{"model":"echo","input":"x","previous_response_id":"resp_ffffffffffff"}'],
];

/** What the watched caller does, the same in both worlds. */
export const act: fc.Arbitrary<Act> = fc.oneof(
  of('ask', { kind, word, history: fc.boolean() }),
  of('go on', { kind: fc.constantFrom('responses' as const, 'responses-sse' as const), word, afterMs }),
  of('talk', { word, conversation }),
  of('abort', { kind, word, afterMs }),
  of('tools', { word, afterMs, end: fc.constantFrom(...toolsEnds) }),
  of('hear again', {}),
  of('resident', { word, conversation: fc.option(conversation), afterMs, end: fc.constantFrom(...residentEnds) }),
  of('begin', { word, afterMs, end: fc.constantFrom('cancel' as const, 'watch' as const) }),
  of('connect', { word, afterMs }),
  of('get', {
    path: fc.constantFrom('/v1', '/v1/runs', '/v1/models', '/v1/nobody?q=x', '/v1/runs/ffffffffffff', '/health'),
  }),
  fc.constantFrom(...wrongBodies).map(([path, body]) => ({ do: 'wrong' as const, path, body })),
);

const url = 'http://127.0.0.1:1';
const [watched, other] = ['clo_watched', 'clo_other'];
const stepMs = 1_000;

/** Everything that the watched caller and its model saw, with ids by their order. */
export const watch = async (acts: readonly Act[], salt: number): Promise<readonly string[]> => {
  const world = patientWorld(salt, Date.UTC(2030, 0, 1));
  const { clock, ids } = world;
  const seen: string[] = [];
  await using cloister = await openCloister({ agents: [agentOf(world, seen)], store: 'memory', clock, ids });
  const server = await openServer(cloister, {
    clock,
    ids,
    tokens: [
      { name: 'watched', sha256: hashToken(watched) },
      { name: 'other', sha256: hashToken(other) },
    ],
    clients: { tools: true },
    // Waiting in line is what one may notice of another: here nobody has to.
    places: { running: 1_000, runningPerAgent: 1_000 },
  });
  const at = (ms: number): Promise<void> => new Promise((resolve) => void clock.timer(ms, resolve));
  const known = new Known();
  const common = { url, fetch: server.fetch, at };
  const one: Actor = { ...common, token: watched, last: newest(), heard: (text) => known.hear(text) };
  const another: Actor = { ...common, token: other, last: newest(), heard: () => undefined };
  const draw = drawFrom(salt);
  const noise = Array.from({ length: draw.below(2 * acts.length + 2) }, async () => {
    await at(draw.below(acts.length * stepMs));
    // Some of what it does is refused, or cannot be done any more.
    await disturb(another, draw, known).catch(() => undefined);
  });
  const got = acts.map(async (doing, place) => {
    await at(place * stepMs + stepMs / 2);
    return `${doing.do} ${place}: ${await perform(doing, one)}`;
  });
  const answers = await world.finish(Promise.all(got));
  await world.finish(Promise.all(noise));
  await world.finish(server.stop(0));
  return namedByOrder([...answers, ...seen]);
};

/** Its answer depends on every byte that it was shown. */
const agentOf = ({ clock }: PatientWorld, seen: string[]): Agent =>
  defineAgent({
    name: 'echo',
    description: 'Answers.',
    prompt: 'Answer.',
    limits: { maxRetries: 0 },
    models: [
      rehearse(
        [
          {
            reply: ({ messages, goal, turn, tools }) => {
              const prompt = JSON.stringify(messages);
              if (goal.includes(mark)) seen.push(prompt);
              const text = `It is ${lettersOf(prompt)}, and ${lettersOf(`${prompt}.`)}.`;
              if (tools.includes(toolName) && turn === 1)
                return { text, calls: [{ tool: toolName, args: { word: lettersOf(goal) } }] };
              if (goal.includes('-fault-')) return { fault: 'cut', text, delayMs: 3 };
              if (goal.includes('-slow-')) return { text, delayMs: 120, pieceDelayMs: 40 };
              if (goal.includes('-tool-') && turn === 1) return { text, calls: [{ tool: 'nothing_like_it' }] };
              return { text };
            },
          },
        ],
        { clock, keepRequests: false },
      ),
    ],
  });

/** No id can look like it. */
const lettersOf = (text: string): string =>
  sha256(text)
    .slice(0, 16)
    .replaceAll(/\d/gu, (digit) => 'ghijklmnop'[Number(digit)]!);

/** The same id has the same name everywhere; so has the hash of a message, which covers its id. */
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
      .replaceAll(/(?<="kind\\":\\"message\\"[^{}]*"sha256\\":\\")[\da-f]{64}/gu, nameOf)
      .replaceAll(/(?<![\da-f])(?:[\da-f]{12}){1,3}(?![\da-f])/gu, (found) =>
        found.replaceAll(/[\da-f]{12}/gu, nameOf),
      ),
  );
};

// Two callers of one server, two worlds at a time: the worlds differ in all that one of them does. What the other one gets, and what
// its model is shown, is kept to be compared.
import fc from 'fast-check';
import { sha256 } from '#base';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { Agent } from 'cloister';
import { fakeWorld, rehearse } from 'cloister/testkit';
import type { FakeWorld } from 'cloister/testkit';
import { hashToken } from '../../src/app/serve/token-book.ts';
import { askedBy, headersFor } from '../app/serve/crowd-requests.ts';
import type { Kind } from '../app/serve/crowd-requests.ts';
import { drawFrom } from '../app/serve/drawn.ts';
import type { Draw } from '../app/serve/drawn.ts';

/** What the watched caller does, the same in both worlds. */
export type Act =
  | { readonly do: 'ask'; readonly kind: Kind; readonly word: string; readonly history: boolean }
  | { readonly do: 'talk'; readonly word: string; readonly conversation: string }
  | { readonly do: 'abort'; readonly kind: Kind; readonly word: string; readonly afterMs: number }
  | { readonly do: 'get'; readonly path: string }
  | { readonly do: 'wrong'; readonly body: string };

const kinds: readonly Kind[] = ['rest', 'rest-sse', 'openai', 'openai-sse', 'anthropic', 'anthropic-sse', 'mcp'];
/** Both callers use them. */
const conversations = ['main', 'trip'];
const mark = 'bee';
const word = fc
  .tuple(fc.constantFrom('plain', 'slow', 'fault', 'tool'), fc.nat(99))
  .map(([how, no]) => `${mark}-${how}-${no}`);

export const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constant('ask' as const), kind: fc.constantFrom(...kinds), word, history: fc.boolean() }),
  fc.record({ do: fc.constant('talk' as const), word, conversation: fc.constantFrom(...conversations) }),
  fc.record({ do: fc.constant('abort' as const), kind: fc.constantFrom(...kinds), word, afterMs: fc.nat(400) }),
  fc.record({
    do: fc.constant('get' as const),
    path: fc.constantFrom('/v1', '/v1/runs', '/v1/models', '/v1/nobody?q=x', '/v1/runs/ffffffffffff', '/health'),
  }),
  fc.record({
    do: fc.constant('wrong' as const),
    body: fc.constantFrom('{', '[]', '{"input":7}', '{"input":"x","budget":{"tokens":-1}}'),
  }),
);

const url = 'http://127.0.0.1:1';
const [watched, other] = ['clo_watched', 'clo_other'];
const stepMs = 1_000;

/** Everything that the watched caller and its model saw, with ids by their order. */
export const watch = async (acts: readonly Act[], salt: number): Promise<readonly string[]> => {
  const world = fakeWorld(salt, Date.UTC(2030, 0, 1));
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
    // Waiting in line is what one may notice of another: here nobody has to.
    places: { running: 1_000, runningPerAgent: 1_000 },
  });
  const at = (ms: number): Promise<void> => new Promise((resolve) => void clock.timer(ms, resolve));
  const draw = drawFrom(salt);
  const noise = Array.from({ length: draw.below(2 * acts.length + 2) }, async () => {
    await at(draw.below(acts.length * stepMs));
    await disturb(server.fetch, at, draw);
  });
  const got = acts.map(async (one, place) => {
    await at(place * stepMs + stepMs / 2);
    return `${one.do} ${place}: ${await answerTo(one, server.fetch, at)}`;
  });
  const answers = await world.finish(Promise.all(got));
  await world.finish(Promise.all(noise));
  return namedByOrder([...answers, ...seen]);
};

type Fetch = (request: Request) => Promise<Response>;
type At = (ms: number) => Promise<void>;

const answerTo = async (one: Act, fetch: Fetch, at: At): Promise<string> => {
  const asking = { token: watched, url, conversation: null, history: [] };
  switch (one.do) {
    case 'ask': {
      const history = one.history ? [`${mark}-before`] : [];
      return whole(await fetch(askedBy({ ...asking, kind: one.kind, word: one.word, history }).request));
    }
    case 'talk':
      return whole(
        await fetch(askedBy({ ...asking, kind: 'rest', word: one.word, conversation: one.conversation }).request),
      );
    case 'abort': {
      const going = new AbortController();
      const answered = fetch(askedBy({ ...asking, kind: one.kind, word: one.word, signal: going.signal }).request)
        .then(whole)
        .catch((error: unknown) => String(error));
      await at(one.afterMs);
      going.abort();
      return answered;
    }
    case 'get':
      return whole(await fetch(new Request(url + one.path, { headers: headersFor(url, watched) })));
    case 'wrong':
      return whole(
        await fetch(
          new Request(`${url}/v1/echo`, { method: 'POST', body: one.body, headers: headersFor(url, watched) }),
        ),
      );
  }
};

/** Everything that came back: status, headers, body. */
const whole = async (response: Response): Promise<string> =>
  JSON.stringify([response.status, [...response.headers], await response.text()]);

/** Whatever the other one may do: ask, talk under the same names, fail, go away, end what it began. */
const disturb = async (fetch: Fetch, at: At, draw: Draw): Promise<void> => {
  const secret = `private-${draw.of(['plain', 'slow', 'fault', 'tool'])}-${'x'.repeat(draw.below(200))}${draw.below(1e9)}`;
  const kind = draw.of(kinds);
  const going = new AbortController();
  const { request } = askedBy({
    kind,
    word: secret,
    token: other,
    url,
    conversation: kind === 'rest' && draw.chance(0.6) ? draw.of(conversations) : null,
    history: draw.chance(0.5) ? [`${secret} before`] : [],
    signal: going.signal,
  });
  const answered = fetch(request).then(
    (response) => response.text().catch(() => ''),
    () => '',
  );
  if (draw.chance(0.3)) {
    await at(draw.below(400));
    going.abort();
  }
  const body = await answered;
  const run = /"run":"([\da-f]{12})"/u.exec(body)?.[1];
  if (run === undefined || draw.chance(0.5)) return;
  const further = draw.of([`/v1/runs/${run}`, `/v1/runs/${run}/events`, '/v1/runs']);
  await fetch(new Request(url + further, { headers: headersFor(url, other) })).then((response) => response.text());
};

/** Its answer depends on every byte that it was shown. */
const agentOf = ({ clock }: FakeWorld, seen: string[]): Agent =>
  defineAgent({
    name: 'echo',
    description: 'Answers.',
    prompt: 'Answer.',
    limits: { maxRetries: 0 },
    models: [
      rehearse(
        [
          {
            reply: ({ messages, goal, turn }) => {
              const prompt = JSON.stringify(messages);
              if (goal.includes(mark)) seen.push(prompt);
              const text = `It is ${lettersOf(prompt)}, and ${lettersOf(`${prompt}.`)}.`;
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

/** The same id has the same name everywhere. */
const namedByOrder = (texts: readonly string[]): readonly string[] => {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    const name = names.get(id) ?? `<${names.size}>`;
    names.set(id, name);
    return name;
  };
  return texts.map((text) =>
    text.replaceAll(/(?<![\da-f])(?:[\da-f]{12}){1,2}(?![\da-f])/gu, (found) =>
      found.replaceAll(/[\da-f]{12}/gu, nameOf),
    ),
  );
};

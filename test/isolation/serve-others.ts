// What another caller may do: everything the watched one does, as often as allowed, and attempts to reach others' resources.
import { leftChat, probes } from '../app/serve/crowd-probes.ts';
import { chatBody, getRequest, postRequest, question, toolCall } from '../app/serve/crowd-requests.ts';
import { askWithTool, resultsBody } from '../app/serve/crowd-tools.ts';
import type { SeededRng } from '../app/serve/seeded-rng.ts';
import {
  approveEnds,
  callIn,
  chatEnds,
  fetchAndRecord,
  kinds,
  perform,
  residentEnds,
  takeMessages,
  toolsEnds,
} from './serve-acts.ts';
import type { Act, Actor } from './serve-acts.ts';

/** Both callers use them. */
export const conversations = ['main', 'trip'];
export const chats = ['chat-1', 'chat-2'];

/** Ids of the watched caller, which are not secret: its runs, calls and sessions. */
export class KnownIds {
  readonly #runs = new Set<string>();
  readonly #calls = new Set<string>();
  readonly #sessions = new Set<string>();
  /** A refusal repeats the calls of others; this one was made to the actor itself. */
  #newestCall: string | undefined;
  /** Ids of questions, and the hashes that an answer names. */
  readonly #questions = new Map<string, string>();

  collect(text: string): void {
    for (const [, run = ''] of text.matchAll(/(?:"run\\*":\\*"|chatcmpl-|resp_)([\da-f]{12})/gu)) this.#runs.add(run);
    for (const [call] of text.matchAll(/q-[\da-f]{12}-\d+/gu)) this.#calls.add(call);
    const made = [...text.matchAll(/tool_calls\\*":\[\{\\*"id\\*":\\*"(q-[\da-f]{12}-\d+)/gu)].at(-1);
    this.#newestCall = made?.[1] ?? this.#newestCall;
    for (const [, id = '', hash = ''] of text.matchAll(
      /(q-[\da-f]{12}-\d+)(?:(?!q-).)*?"sha256\\*":\\*"([\da-f]{64})/gu,
    ))
      this.#questions.set(id, hash);
    for (const [session] of text.matchAll(/\/mcp\/messages\?session=[\da-f]+/gu)) this.#sessions.add(session);
  }

  get newestQuestion(): string | undefined {
    return [...this.#questions.keys()].at(-1);
  }

  get newestCall(): string | undefined {
    return this.#newestCall;
  }

  get newestRun(): string | undefined {
    return [...this.#runs].at(-1);
  }

  /** A request by another caller about one of the newest ids. */
  foreignRequest(actor: Actor, rng: SeededRng): Request | null {
    const [run, call, session] = [this.#runs, this.#calls, this.#sessions].map((ids) => [...ids].at(-1));
    const secret = secretOf(rng);
    const [asked, sha256] = [...this.#questions].at(-1) ?? [];
    const choices = [
      ...(asked === undefined
        ? []
        : [postRequest(actor, `/v1/questions/${asked}`, { allow: rng.chance(0.5), sha256 })]),
      ...(run === undefined ? [] : [rng.of(probes).request(actor.url, actor.token, run)]),
      ...(call === undefined ? [] : [postRequest(actor, '/v1/chat/completions', resultsBody(secret, [call], secret))]),
      ...(session === undefined ? [] : [postRequest(actor, session, { ...toolCall(secret), id: 7 })]),
    ];
    return choices.length === 0 ? null : rng.of(choices);
  }
}

const secretOf = (rng: SeededRng): string =>
  `private-${rng.of(['plain', 'slow', 'fault', 'tool', 'later'])}-${'x'.repeat(rng.below(200))}${rng.below(1e9)}`;

export const disturb = async (actor: Actor, rng: SeededRng, known: KnownIds): Promise<void> => {
  if (rng.chance(0.3)) {
    const request = known.foreignRequest(actor, rng);
    if (request !== null) await fetchAndRecord(actor, request);
  } else if (rng.chance(0.15)) await exhaustLimits(actor, rng);
  else await perform(randomAct(rng), actor);
};

/** Runs that wait for messages, one that waits for a tool of its client, and one that waits for a person. They are left so. */
export const leaveTraces = async (actor: Actor, rng: SeededRng): Promise<void> => {
  const post = (path: string, body: object): Promise<string> => fetchAndRecord(actor, postRequest(actor, path, body));
  const resident = { input: question(privateWord(rng)), resident: true, wait: false };
  for (let residents = 0; residents < 20; residents++) await post('/v1/echo', resident);
  await post('/v1/chat/completions', askWithTool(privateWord(rng)));
  // It asks a person, so its stream ends and it stays.
  await post('/ui/echo', {
    ...chatBody(leftChat, { word: `${privateWord(rng)}-approve`, history: [] }),
    resumable: true,
  });
  const begun = await post('/v1/echo', { input: question(`${privateWord(rng)}-approve`), wait: false });
  await actor.at(200);
  const run = /"run\\":\\"(?<run>[\da-f]{12})/u.exec(begun)?.groups?.['run'];
  if (run !== undefined) await fetchAndRecord(actor, getRequest(actor, `/v1/runs/${run}/questions`));
  await fetchAndRecord(actor, getRequest(actor, '/v1/runs'));
};

/** What a token that may only watch tries with a run of another caller. */
export const meddle = async (actor: Actor, run: string): Promise<void> => {
  await takeMessages(actor, run);
  await fetchAndRecord(actor, postRequest(actor, `/v1/runs/${run}/cancel`, {}));
};

/** Reads a run of another caller for a while, or tries to do something with it: with a token that may only watch. */
export const watchRuns = async (actor: Actor, rng: SeededRng, known: KnownIds): Promise<void> => {
  const request = known.foreignRequest(actor, rng);
  if (request === null) return;
  const reader = (await actor.fetch(request)).body?.getReader();
  if (reader === undefined) return;
  const over = actor.at(rng.below(1_000));
  for (;;) {
    const read = await Promise.race([reader.read(), over]);
    if (read === undefined || read.done) break;
  }
  await reader.cancel();
};

/** What an operator does without steering anything: reads runs of others, and asks its own questions. */
export const overlook = async (actor: Actor, rng: SeededRng, known: KnownIds): Promise<void> => {
  if (rng.chance(0.4))
    return void (await perform({ do: 'talk', word: secretOf(rng), conversation: rng.of(conversations) }, actor));
  const run = known.newestRun;
  const below = ['', '/messages', '/transcript', '/ledger', '/windows', '/tasks', '/questions', '/events?limit=50'];
  const paths = run === undefined ? [] : below.map((path) => `/v1/runs/${run}${path}`);
  const path = rng.of([
    ...paths,
    '/v1/runs',
    '/v1/questions',
    '/v1/checkpoints',
    '/v1/me',
    '/v1/callers',
    '/v1/conversations',
  ]);
  await fetchAndRecord(actor, getRequest(actor, path));
};

/** What a token that may only watch shows of the caller's runs; it tries to stop the newest. */
export const glance = async (actor: Actor): Promise<string> => {
  const run = actor.newestRun('own') ?? 'ffffffffffff';
  const requests = [
    getRequest(actor, '/v1/runs'),
    getRequest(actor, '/v1'),
    getRequest(actor, '/v1/questions'),
    getRequest(actor, `/v1/runs/${run}/messages`),
    postRequest(actor, `/v1/runs/${run}/cancel`, {}),
  ];
  const seen: string[] = [];
  for (const request of requests) seen.push(await fetchAndRecord(actor, request));
  return seen.join('\n');
};

/** As many residents and waiting runs as it may have at a time; some of them are then released. */
const exhaustLimits = async (actor: Actor, rng: SeededRng): Promise<void> => {
  const word = privateWord(rng);
  const all = async <T>(count: number, each: () => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: count }, each));
  const post = (path: string, body: object): Promise<string> => fetchAndRecord(actor, postRequest(actor, path, body));
  switch (rng.below(3)) {
    case 0:
      await all(64, () => post('/v1/echo', { input: question(word), resident: true, wait: false }));
      break;
    case 1: {
      const streams = await all(64, () => actor.fetch(getRequest(actor, '/mcp/sse')));
      await actor.at(rng.below(3_000));
      for (const { body } of streams) await body?.cancel();
      break;
    }
    case 2:
      await useManyTools(actor, rng);
  }
};

/** As many runs with tools as may wait at a time; most often they end. */
export const useManyTools = async (actor: Actor, rng: SeededRng): Promise<void> => {
  const word = privateWord(rng);
  const post = (body: object): Promise<string> =>
    fetchAndRecord(actor, postRequest(actor, '/v1/chat/completions', body));
  const responses = await Promise.all(Array.from({ length: 16 }, () => post(askWithTool(word))));
  if (rng.chance(0.3)) return;
  for (const call of responses.map(callIn)) if (call !== undefined) await post(resultsBody(word, [call], word));
};

const privateWord = (rng: SeededRng): string => `private-plain-${rng.below(1e9)}`;

const randomAct = (rng: SeededRng): Act => {
  const [word, afterMs] = [secretOf(rng), rng.below(400)];
  const kind = rng.of(kinds);
  const conversation = rng.chance(0.5) ? rng.of(conversations) : null;
  const choices: readonly Act[] = [
    { do: 'ask', kind, word, history: rng.chance(0.5) },
    { do: 'continue', kind: rng.of(['responses', 'responses-sse']), word, afterMs },
    { do: 'talk', word, conversation: rng.of(conversations) },
    { do: 'abort', kind, word, afterMs },
    { do: 'tools', word, afterMs, end: rng.of(toolsEnds) },
    { do: 'read again' },
    { do: 'resident', word, conversation, afterMs, end: rng.of(residentEnds) },
    { do: 'begin', word, afterMs, end: rng.of(['cancel', 'watch']) },
    { do: 'approve', word, afterMs, end: rng.of(approveEnds) },
    { do: 'chat', word, chat: rng.of(chats), end: rng.of(chatEnds) },
    { do: 'connect', word, afterMs },
    { do: 'get', path: rng.of(['/v1/runs', '/v1/models']) },
    { do: 'probe', nth: rng.below(probes.length), whose: rng.of(['own', 'other']), digits: 1 + rng.below(12) },
  ];
  return rng.of(choices);
};

// What a caller of a server does, step by step, and everything it gets back.
import { eventReader, initialize } from '../headends/mcp/messages.ts';
import {
  buildProtocolRequest,
  chatBody,
  getRequest,
  headersFor,
  postRequest,
  question,
  toolCall,
} from '../app/serve/crowd-requests.ts';
import type { Caller, Kind } from '../app/serve/crowd-requests.ts';
import { approvedChat, probes } from '../app/serve/crowd-probes.ts';
import { askWithTool, resultsBody, unknownCallId } from '../app/serve/crowd-tools.ts';

export type Act =
  | { readonly do: 'ask'; readonly kind: Kind; readonly word: string; readonly history: boolean }
  /** Asks for a response, and continues the newest one. */
  | {
      readonly do: 'continue';
      readonly kind: 'responses' | 'responses-sse';
      readonly word: string;
      readonly afterMs: number;
    }
  | { readonly do: 'talk'; readonly word: string; readonly conversation: string }
  | { readonly do: 'abort'; readonly kind: Kind; readonly word: string; readonly afterMs: number }
  | { readonly do: 'tools'; readonly word: string; readonly afterMs: number; readonly end: ToolsEnd }
  /** Reads the first response of the newest request with tools again. */
  | { readonly do: 'read again' }
  | {
      readonly do: 'resident';
      readonly word: string;
      readonly conversation: string | null;
      readonly afterMs: number;
      readonly end: ResidentEnd;
    }
  /** Starts a run without waiting for it. */
  | { readonly do: 'begin'; readonly word: string; readonly afterMs: number; readonly end: 'cancel' | 'watch' }
  /** Starts a run that asks a person, and answers it. */
  | { readonly do: 'approve'; readonly word: string; readonly afterMs: number; readonly end: ApproveEnd }
  /** Starts a run of a chat, goes away, and comes back for its stream. */
  | { readonly do: 'chat'; readonly word: string; readonly chat: string; readonly end: ChatEnd }
  | { readonly do: 'connect'; readonly word: string; readonly afterMs: number }
  | { readonly do: 'get'; readonly path: string }
  /** Tries to reach the newest run of another caller or of its own, by its id or the first digits of it. */
  | { readonly do: 'probe'; readonly nth: number; readonly whose: 'own' | 'other'; readonly digits: number }
  | { readonly do: 'wrong'; readonly path: string; readonly body: string };

export const toolsEnds = ['bring', 'fail', 'cancel', 'leave'] as const;
export const residentEnds = ['finish', 'finish one', 'cancel', 'leave'] as const;
export const approveEnds = ['allow', 'deny', 'wrong', 'leave'] as const;
export const chatEnds = ['read', 'stop', 'leave'] as const;
type ChatEnd = (typeof chatEnds)[number];
type ApproveEnd = (typeof approveEnds)[number];
type ToolsEnd = (typeof toolsEnds)[number];
type ResidentEnd = (typeof residentEnds)[number];

export const kinds: readonly Kind[] = [
  'rest',
  'rest-sse',
  'openai',
  'openai-sse',
  'responses',
  'responses-sse',
  'anthropic',
  'anthropic-sse',
  'ag-ui',
  'ui',
  'mcp',
];

export type Actor = Caller & {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly at: (ms: number) => Promise<void>;
  /** Called with every response text. */
  readonly onResponse: (text: string) => void;
  readonly last: { response: string; withTools: string };
  /** The newest run of each, as far as it is known. */
  readonly newestRun: (whose: 'own' | 'other') => string | undefined;
};

export const unknownResponses = (): Actor['last'] => ({
  response: 'resp_ffffffffffff',
  withTools: 'resp_ffffffffffff_1',
});

const unknownRun = 'ffffffffffff';

/** Ids of another caller, which are not secret. */
export type KnownForeignIds = { readonly newestQuestion: string | undefined; readonly newestCall: string | undefined };

/** Returns everything that came back, for each request. */
export const perform = async (one: Act, actor: Actor): Promise<string> => {
  const { token, url } = actor;
  const common = { token, url, conversation: null, history: [] };
  switch (one.do) {
    case 'ask': {
      const history = one.history ? [`${one.word}-before`] : [];
      const system = one.history ? { system: `${one.word}-rules` } : {};
      return fetchAndRecord(
        actor,
        buildProtocolRequest({ ...common, kind: one.kind, word: one.word, history, ...system }).request,
      );
    }
    case 'continue': {
      const first = await fetchAndRecord(
        actor,
        buildProtocolRequest({ ...common, kind: one.kind, word: one.word }).request,
      );
      actor.last.response = /resp_[\da-f]{12}/u.exec(first)?.[0] ?? actor.last.response;
      await actor.at(one.afterMs);
      const previous = actor.last.response;
      const word = `${one.word}-more`;
      return `${first}\n${await fetchAndRecord(actor, buildProtocolRequest({ ...common, kind: one.kind, word, previous }).request)}`;
    }
    case 'talk': {
      const { word, conversation } = one;
      return fetchAndRecord(actor, buildProtocolRequest({ ...common, kind: 'rest', word, conversation }).request);
    }
    case 'abort': {
      const controller = new AbortController();
      const answered = fetchAndRecord(
        actor,
        buildProtocolRequest({ ...common, kind: one.kind, word: one.word, signal: controller.signal }).request,
      ).catch(String);
      await actor.at(one.afterMs);
      controller.abort();
      return answered;
    }
    case 'tools':
      return useTools(actor, one);
    case 'read again':
      return readAgain(actor);
    case 'resident':
      return useResident(actor, one);
    case 'begin':
      return startWithoutWaiting(actor, one);
    case 'approve':
      return useApproval(actor, one);
    case 'chat':
      return useChat(actor, one);
    case 'connect':
      return connect(actor, one);
    case 'get':
      return fetchAndRecord(actor, getRequest(actor, one.path));
    case 'probe': {
      // A whole id of its own is no attempt.
      const run = (actor.newestRun(one.whose) ?? unknownRun).slice(
        0,
        Math.min(one.digits, one.whose === 'own' ? 6 : 12),
      );
      const text = await fetchAndRecord(actor, probes[one.nth % probes.length]!.request(url, token, run));
      // A refusal repeats the digits that were sent, which are random.
      return text.replaceAll(`q-${run}-3`, 'q-<sent>-3');
    }
    case 'wrong':
      return fetchAndRecord(
        actor,
        new Request(url + one.path, { method: 'POST', body: one.body, headers: headersFor(url, token) }),
      );
  }
};

/** The first response of the newest request with tools. */
export const readAgain = (actor: Actor): Promise<string> =>
  fetchAndRecord(actor, getRequest(actor, `/v1/responses/${actor.last.withTools}`));

/**
 * Every way to a run or a question of another caller, once: by its whole id, and by the first digits of it. Then what a failure of its
 * own shows.
 */
export const reachForOthers = async (actor: Actor, foreign: KnownForeignIds): Promise<string> => {
  const seen: string[] = [];
  const run = actor.newestRun('other') ?? unknownRun;
  for (const { request } of probes)
    for (const sent of [run, run.slice(0, 5)])
      seen.push(
        (await fetchForAWhile(actor, request(actor.url, actor.token, sent))).replaceAll(`q-${sent}-3`, 'q-<sent>'),
      );
  const id = foreign.newestQuestion ?? `q-${unknownRun}-3`;
  const answer = { allow: true, sha256: '0'.repeat(64) };
  const resumed = { interruptId: id, status: 'resolved', payload: { approved: true } };
  for (const request of [
    getRequest(actor, `/v1/questions/${id}`),
    postRequest(actor, `/v1/questions/${id}`, answer),
    postRequest(actor, '/ag-ui/echo', { threadId: 'thread', runId: 'run', messages: [], resume: [resumed] }),
    postRequest(actor, '/ui/echo', approvedChat(id)),
  ])
    seen.push((await fetchAndRecord(actor, request)).replaceAll(id, 'q-<sent>'));
  seen.push(await fetchAndRecord(actor, getRequest(actor, '/v1/runs')));
  const results = resultsBody('bee-plain-1', [foreign.newestCall ?? unknownCallId], 'bee-found');
  seen.push(await fetchAndRecord(actor, postRequest(actor, chatPath, results)));
  const failed = await fetchAndRecord(actor, postRequest(actor, '/v1/echo', { input: question('bee-fault-1') }));
  for (const path of [
    '/v1/conversations',
    '/v1/conversations/echo/trip',
    '/v1/dead-letters',
    '/v1/runs?text=private',
    '/v1/me',
  ])
    // Hashes of contents that hold random ids.
    seen.push((await fetchAndRecord(actor, getRequest(actor, path))).replaceAll(/[\da-f]{64}/gu, '<hash>'));
  seen.push(failed, await fetchAndRecord(actor, getRequest(actor, `/v1/runs/${runIn(failed) ?? unknownRun}`)));
  return seen.join('\n');
};

/**
 * Lets a long-lived agent say something unasked, and reads it some time later: only its caller takes it. Its own runs are not found by
 * the first digit of their ids, which others may share.
 */
export const readUnasked = async (actor: Actor, meanwhile: (run: string) => Promise<void>): Promise<string> => {
  const begun = { input: question('bee-later-1'), resident: true, wait: true };
  const started = await fetchAndRecord(actor, postRequest(actor, '/v1/echo', begun));
  const run = runIn(started);
  if (run === undefined) return started;
  const seen = [started];
  for (const digits of [1, 2]) seen.push(await perform({ do: 'probe', nth: 0, whose: 'own', digits }, actor));
  await actor.at(400);
  await meanwhile(run);
  await actor.at(400);
  seen.push(await fetchAndRecord(actor, getRequest(actor, `/v1/runs/${run}/messages`)));
  seen.push(await fetchAndRecord(actor, postRequest(actor, `/v1/runs/${run}/finish`, {})));
  return seen.join('\n');
};

/** Takes all messages of a run: whoever asks for those after one has taken it. */
export const takeMessages = async (actor: Actor, run: string): Promise<void> => {
  const path = `/v1/runs/${run}/messages`;
  const last = [...(await fetchAndRecord(actor, getRequest(actor, path))).matchAll(/m-[\da-f]{12}/gu)].at(-1)?.[0];
  if (last !== undefined) await fetchAndRecord(actor, getRequest(actor, `${path}?after=${last}`));
};

/** Status, headers, body. */
export const fetchAndRecord = async (
  { fetch, onResponse }: Pick<Actor, 'fetch' | 'onResponse'>,
  request: Request,
): Promise<string> => {
  const response = await fetch(request);
  const text = JSON.stringify([response.status, [...response.headers], await response.text()]);
  onResponse(text);
  return text;
};

/** The same, of a stream that may never end: what comes within a while. */
const fetchForAWhile = async (actor: Actor, request: Request): Promise<string> => {
  const response = await actor.fetch(request);
  const seen = [JSON.stringify([response.status, [...response.headers]])];
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const over = actor.at(300);
  for (;;) {
    const read = await Promise.race([reader?.read(), over]);
    if (read === undefined || read.done) break;
    seen.push(read.value);
  }
  await reader?.cancel();
  return seen.join('\n');
};

type ActOfKind<Do extends Act['do']> = Extract<Act, { readonly do: Do }>;

const useApproval = async (actor: Actor, { word, afterMs, end }: ActOfKind<'approve'>): Promise<string> => {
  const seen: string[] = [];
  const send = async (request: Request): Promise<string> => {
    const text = await fetchAndRecord(actor, request);
    seen.push(text);
    return text;
  };
  const begun = await send(postRequest(actor, '/v1/echo', { input: question(`${word}-approve`), wait: false }));
  await actor.at(afterMs);
  const run = /"run\\":\\"(?<run>[\da-f]{12})/u.exec(begun)?.groups?.['run'] ?? unknownRun;
  await send(getRequest(actor, '/v1/questions'));
  const asked = await send(getRequest(actor, `/v1/runs/${run}/questions`));
  const id = /q-[\da-f]{12}-\d+/u.exec(asked)?.[0] ?? `q-${unknownRun}-3`;
  const sha256 = /"sha256\\":\\"(?<hash>[\da-f]{64})/u.exec(asked)?.groups?.['hash'] ?? '';
  const given = end === 'wrong' ? '0'.repeat(64) : sha256;
  if (end !== 'leave')
    await send(postRequest(actor, `/v1/questions/${id}`, { allow: end === 'allow', sha256: given, reason: word }));
  await actor.at(afterMs);
  for (const path of [`/v1/questions/${id}`, `/v1/runs/${run}`, '/v1/questions']) await send(getRequest(actor, path));
  // What waits is not left behind: it would wait for a day.
  await send(postRequest(actor, `/v1/runs/${run}/cancel`, {}));
  return seen.join('\n');
};

/** No piece of a slow answer comes just then. */
const awayMs = 210;

const useChat = async (actor: Actor, { word, chat, end }: ActOfKind<'chat'>): Promise<string> => {
  const path = `/ui/echo/${chat}/stream`;
  const started = await actor.fetch(
    postRequest(actor, '/ui/echo', { ...chatBody(chat, { word, history: [] }), resumable: true }),
  );
  await actor.at(awayMs);
  await started.body?.cancel();
  if (end === 'leave') return `${started.status}`;
  if (end === 'stop') {
    const headers = headersFor(actor.url, actor.token);
    return fetchAndRecord(actor, new Request(actor.url + path, { method: 'DELETE', headers }));
  }
  const again = await actor.fetch(getRequest(actor, path));
  const text = await again.text();
  actor.onResponse(text);
  // How its text is cut into pieces depends on when it is read.
  const written = [...text.matchAll(/"delta":"(?<piece>[^"]*)"/gu)].map(({ groups }) => groups?.['piece']).join('');
  return JSON.stringify([started.status, again.status, written]);
};

const chatPath = '/v1/chat/completions';

const useTools = async (actor: Actor, { word, afterMs, end }: ActOfKind<'tools'>): Promise<string> => {
  const first = await fetchAndRecord(actor, postRequest(actor, chatPath, askWithTool(word)));
  const [call, run] = [callIn(first), /chatcmpl-(?<run>[\da-f]{12})/u.exec(first)?.groups?.['run']];
  if (call === undefined || run === undefined) return first;
  actor.last.withTools = `resp_${run}_1`;
  await actor.at(afterMs);
  const again = await fetchAndRecord(actor, getRequest(actor, `/v1/responses/resp_${run}_1`));
  const then = {
    bring: () => postRequest(actor, chatPath, resultsBody(word, [call], `${word}-found`)),
    fail: () => postRequest(actor, chatPath, resultsBody(word, [call, call], word)),
    cancel: () => postRequest(actor, `/v1/runs/${run}/cancel`, {}),
    leave: () => getRequest(actor, `/v1/runs/${run}`),
  }[end];
  return [first, again, await fetchAndRecord(actor, then())].join('\n');
};

export const callIn = (text: string): string | undefined => /q-[\da-f]{12}-\d+/u.exec(text)?.[0];

const runIn = (text: string): string | undefined => /\\"run\\":\\"(?<run>[\da-f]{12})\\"/u.exec(text)?.groups?.['run'];

const useResident = async (actor: Actor, one: ActOfKind<'resident'>): Promise<string> => {
  const { word, conversation, afterMs, end } = one;
  const kept = conversation === null ? {} : { conversation };
  const started = { input: question(word), resident: true, wait: true, ...kept };
  const responses = [await fetchAndRecord(actor, postRequest(actor, '/v1/echo', started))];
  const run = runIn(responses[0]!);
  if (run === undefined) return responses[0]!;
  await actor.at(afterMs);
  const text = question(`${word}-more`);
  responses.push(await fetchAndRecord(actor, postRequest(actor, `/v1/runs/${run}/messages`, { text, answer: true })));
  for (const path of ['agents', 'messages', 'mail'])
    responses.push(await fetchAndRecord(actor, getRequest(actor, `/v1/runs/${run}/${path}`)));
  const then = {
    finish: () => postRequest(actor, `/v1/runs/${run}/finish`, {}),
    'finish one': () =>
      new Request(`${actor.url}/v1/runs/${run}/agents/echo`, {
        method: 'DELETE',
        headers: headersFor(actor.url, actor.token),
      }),
    cancel: () => postRequest(actor, `/v1/runs/${run}/cancel`, {}),
    leave: () => getRequest(actor, `/v1/runs/${run}`),
  }[end];
  responses.push(await fetchAndRecord(actor, then()));
  if (end !== 'leave') responses.push(await fetchAndRecord(actor, getRequest(actor, `/v1/runs/${run}/events`)));
  return responses.join('\n');
};

const startWithoutWaiting = async (actor: Actor, { word, afterMs, end }: ActOfKind<'begin'>): Promise<string> => {
  const started = await fetchAndRecord(actor, postRequest(actor, '/v1/echo', { input: question(word), wait: false }));
  const run = runIn(started);
  if (run === undefined) return started;
  await actor.at(afterMs);
  const ended = end === 'cancel' ? [await fetchAndRecord(actor, postRequest(actor, `/v1/runs/${run}/cancel`, {}))] : [];
  const read: string[] = [];
  const readNext = async (path: string): Promise<string> => {
    const text = await fetchAndRecord(actor, getRequest(actor, `/v1/runs/${run}/${path}`));
    read.push(text);
    return text;
  };
  // Three of them are refused if the caller may not see contents; comparing with another caller's run always is.
  for (const path of ['events', 'transcript', 'events?details=true', 'audit', 'windows', 'mail', `diff?with=${run}`])
    await readNext(path);
  const ledger = await readNext('ledger');
  const root = /cell\\":\\"(?<cell>[^"\\]*)/u.exec(ledger)?.groups?.['cell'] ?? '';
  await readNext(`explain?cell=${root}`);
  await readNext(`diff?with=${actor.newestRun('other') ?? unknownRun}`);
  read.push(await fetchAndRecord(actor, postRequest(actor, `/v1/runs/${run}/replay`, {})));
  const forked = await fetchAndRecord(actor, postRequest(actor, `/v1/runs/${run}/fork`, { at: root }));
  read.push(forked, await fetchAndRecord(actor, getRequest(actor, `/v1/runs/${runIn(forked) ?? unknownRun}/events`)));
  read.push(await useCheckpoint(actor, run, word));
  return [started, ...ended, ...read].join('\n');
};

/** Takes a checkpoint, reads and branches it, and looks for those of another caller's run. */
const useCheckpoint = async (actor: Actor, run: string, label: string): Promise<string> => {
  const taken = await fetchAndRecord(actor, postRequest(actor, `/v1/runs/${run}/checkpoints`, { label }));
  const id = /"id\\?":\\?"(?<id>[\da-f]{12})/u.exec(taken)?.groups?.['id'] ?? unknownRun;
  const read = [taken];
  for (const path of ['', `/${id}`, `/${id}/diff?with=${id}`, `?run=${actor.newestRun('other') ?? unknownRun}`])
    read.push(await fetchAndRecord(actor, getRequest(actor, `/v1/checkpoints${path}`)));
  for (const body of [{}, { name: 'aside' }])
    read.push(await fetchAndRecord(actor, postRequest(actor, `/v1/checkpoints/${id}/branch`, body)));
  read.push(await fetchAndRecord(actor, postRequest(actor, `/v1/checkpoints/${id}/restore`, {})));
  return read.join('\n');
};

/** Connects to MCP, with a stream that stays open for a while. */
const connect = async (actor: Actor, { word, afterMs }: ActOfKind<'connect'>): Promise<string> => {
  const response = await actor.fetch(getRequest(actor, '/mcp/sse'));
  const events = eventReader(response.body);
  const brought: string[] = [];
  try {
    const first = await events.next();
    if (first === null) return `${response.status}`;
    actor.onResponse(first.data);
    await actor.at(afterMs);
    for (const message of [initialize(), toolCall(word)])
      brought.push(await fetchAndRecord(actor, postRequest(actor, first.data, message)));
    // A refused message is never answered.
    if (brought.some((text) => !text.startsWith('[202'))) return brought.join('\n');
    while (brought.at(-1)?.includes('"id":1') !== true) {
      const block = await events.nextBlock();
      brought.push(JSON.stringify(block).replaceAll('\\', ''));
      if (block === null) break;
    }
  } finally {
    await events.cancel();
  }
  return brought.join('\n');
};

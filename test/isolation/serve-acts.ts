// What a caller of a server does, step by step, and all that it is told on the way.
import { eventsOf, initialize } from '../headends/mcp/messages.ts';
import { askedBy, got, headersFor, posted, question, toolCall } from '../app/serve/crowd-requests.ts';
import type { Caller, Kind } from '../app/serve/crowd-requests.ts';
import { askWithTool, bringResults } from '../app/serve/crowd-tools.ts';

export type Act =
  | { readonly do: 'ask'; readonly kind: Kind; readonly word: string; readonly history: boolean }
  /** Asks for a response, and goes on with the one that it was told last. */
  | {
      readonly do: 'go on';
      readonly kind: 'responses' | 'responses-sse';
      readonly word: string;
      readonly afterMs: number;
    }
  | { readonly do: 'talk'; readonly word: string; readonly conversation: string }
  | { readonly do: 'abort'; readonly kind: Kind; readonly word: string; readonly afterMs: number }
  | { readonly do: 'tools'; readonly word: string; readonly afterMs: number; readonly end: ToolsEnd }
  /** What the last of those with tools was told first. */
  | { readonly do: 'hear again' }
  | {
      readonly do: 'resident';
      readonly word: string;
      readonly conversation: string | null;
      readonly afterMs: number;
      readonly end: ResidentEnd;
    }
  /** Without waiting for it. */
  | { readonly do: 'begin'; readonly word: string; readonly afterMs: number; readonly end: 'cancel' | 'watch' }
  | { readonly do: 'connect'; readonly word: string; readonly afterMs: number }
  | { readonly do: 'get'; readonly path: string }
  | { readonly do: 'wrong'; readonly path: string; readonly body: string };

export const toolsEnds = ['bring', 'fail', 'cancel', 'leave'] as const;
export const residentEnds = ['finish', 'finish one', 'cancel', 'leave'] as const;
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
  'mcp',
];

export type Actor = Caller & {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly at: (ms: number) => Promise<void>;
  /** Every text that it is told. */
  readonly heard: (text: string) => void;
  readonly last: { response: string; withTools: string };
};

export const newest = (): Actor['last'] => ({ response: 'resp_ffffffffffff', withTools: 'resp_ffffffffffff_1' });

/** Everything that came back, of each request. */
export const perform = async (one: Act, actor: Actor): Promise<string> => {
  const { token, url } = actor;
  const asking = { token, url, conversation: null, history: [] };
  switch (one.do) {
    case 'ask': {
      const history = one.history ? [`${one.word}-before`] : [];
      return tell(actor, askedBy({ ...asking, kind: one.kind, word: one.word, history }).request);
    }
    case 'go on': {
      const first = await tell(actor, askedBy({ ...asking, kind: one.kind, word: one.word }).request);
      actor.last.response = /resp_[\da-f]{12}/u.exec(first)?.[0] ?? actor.last.response;
      await actor.at(one.afterMs);
      const previous = actor.last.response;
      const word = `${one.word}-more`;
      return `${first}\n${await tell(actor, askedBy({ ...asking, kind: one.kind, word, previous }).request)}`;
    }
    case 'talk': {
      const { word, conversation } = one;
      return tell(actor, askedBy({ ...asking, kind: 'rest', word, conversation }).request);
    }
    case 'abort': {
      const going = new AbortController();
      const answered = tell(
        actor,
        askedBy({ ...asking, kind: one.kind, word: one.word, signal: going.signal }).request,
      ).catch(String);
      await actor.at(one.afterMs);
      going.abort();
      return answered;
    }
    case 'tools':
      return useTools(actor, one);
    case 'hear again':
      return tell(actor, got(actor, `/v1/responses/${actor.last.withTools}`));
    case 'resident':
      return keepResident(actor, one);
    case 'begin':
      return beginApart(actor, one);
    case 'connect':
      return connect(actor, one);
    case 'get':
      return tell(actor, got(actor, one.path));
    case 'wrong':
      return tell(
        actor,
        new Request(url + one.path, { method: 'POST', body: one.body, headers: headersFor(url, token) }),
      );
  }
};

/** Status, headers, body. */
export const tell = async ({ fetch, heard }: Pick<Actor, 'fetch' | 'heard'>, request: Request): Promise<string> => {
  const response = await fetch(request);
  const text = JSON.stringify([response.status, [...response.headers], await response.text()]);
  heard(text);
  return text;
};

type Doing<Do extends Act['do']> = Extract<Act, { readonly do: Do }>;

const chatPath = '/v1/chat/completions';

const useTools = async (actor: Actor, { word, afterMs, end }: Doing<'tools'>): Promise<string> => {
  const first = await tell(actor, posted(actor, chatPath, askWithTool(word)));
  const [call, run] = [callIn(first), /chatcmpl-(?<run>[\da-f]{12})/u.exec(first)?.groups?.['run']];
  if (call === undefined || run === undefined) return first;
  actor.last.withTools = `resp_${run}_1`;
  await actor.at(afterMs);
  const again = await tell(actor, got(actor, `/v1/responses/resp_${run}_1`));
  const then = {
    bring: () => posted(actor, chatPath, bringResults(word, [call], `${word}-found`)),
    fail: () => posted(actor, chatPath, bringResults(word, [call, call], word)),
    cancel: () => posted(actor, `/v1/runs/${run}/cancel`, {}),
    leave: () => got(actor, `/v1/runs/${run}`),
  }[end];
  return [first, again, await tell(actor, then())].join('\n');
};

export const callIn = (text: string): string | undefined => /call_[\da-f]{32}/u.exec(text)?.[0];

const runIn = (text: string): string | undefined => /\\"run\\":\\"(?<run>[\da-f]{12})\\"/u.exec(text)?.groups?.['run'];

const keepResident = async (actor: Actor, one: Doing<'resident'>): Promise<string> => {
  const { word, conversation, afterMs, end } = one;
  const kept = conversation === null ? {} : { conversation };
  const begun = { input: question(word), resident: true, wait: true, ...kept };
  const told = [await tell(actor, posted(actor, '/v1/echo', begun))];
  const run = runIn(told[0]!);
  if (run === undefined) return told[0]!;
  await actor.at(afterMs);
  const text = question(`${word}-more`);
  told.push(await tell(actor, posted(actor, `/v1/runs/${run}/messages`, { text, answer: true })));
  for (const path of ['agents', 'messages']) told.push(await tell(actor, got(actor, `/v1/runs/${run}/${path}`)));
  const then = {
    finish: () => posted(actor, `/v1/runs/${run}/finish`, {}),
    'finish one': () =>
      new Request(`${actor.url}/v1/runs/${run}/agents/echo`, {
        method: 'DELETE',
        headers: headersFor(actor.url, actor.token),
      }),
    cancel: () => posted(actor, `/v1/runs/${run}/cancel`, {}),
    leave: () => got(actor, `/v1/runs/${run}`),
  }[end];
  told.push(await tell(actor, then()));
  if (end !== 'leave') told.push(await tell(actor, got(actor, `/v1/runs/${run}/events`)));
  return told.join('\n');
};

const beginApart = async (actor: Actor, { word, afterMs, end }: Doing<'begin'>): Promise<string> => {
  const begun = await tell(actor, posted(actor, '/v1/echo', { input: question(word), wait: false }));
  const run = runIn(begun);
  if (run === undefined) return begun;
  await actor.at(afterMs);
  const ended = end === 'cancel' ? [await tell(actor, posted(actor, `/v1/runs/${run}/cancel`, {}))] : [];
  return [begun, ...ended, await tell(actor, got(actor, `/v1/runs/${run}/events`))].join('\n');
};

/** To MCP, with a stream that stays open for a while. */
const connect = async (actor: Actor, { word, afterMs }: Doing<'connect'>): Promise<string> => {
  const response = await actor.fetch(got(actor, '/mcp/sse'));
  const events = eventsOf(response.body);
  const brought: string[] = [];
  try {
    const first = await events.next();
    if (first === null || !('data' in first)) return `${response.status}`;
    actor.heard(first.data);
    await actor.at(afterMs);
    for (const message of [initialize(), toolCall(word)])
      brought.push(await tell(actor, posted(actor, first.data, message)));
    while (brought.at(-1)?.includes('"id":1') !== true)
      brought.push(JSON.stringify(await events.next()).replaceAll('\\', ''));
  } finally {
    await events.cancel();
  }
  return brought.join('\n');
};

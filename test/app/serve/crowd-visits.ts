// What takes several requests: tools of the client, agents that live on, and connections that stay open. On the way, each tries to
// reach what is another's and waits at that moment.
import { WebSocket } from 'ws';
import { eventsOf, initialize } from '../../headends/mcp/messages.ts';
import { wordsIn } from './crowd-agent.ts';
import { calledText, chatUsage, got, headersFor, posted, question, toolCall } from './crowd-requests.ts';
import type { Caller, Read, Value } from './crowd-requests.ts';
import { askWithTool, bringResults, neverCalled } from './crowd-tools.ts';
import { turns } from './crowd-world.ts';
import type { Crowd } from './crowd-world.ts';
import type { Draw } from './drawn.ts';

export type Visit = {
  readonly crowd: Crowd;
  readonly caller: number;
  readonly of: Caller;
  readonly draw: Draw;
  /** A new one of its own. */
  word(): string;
  /** The words of a conversation so far, to be added to. */
  conversation(name: string): string[];
  /** It must have been told these words, all of them and no others. */
  check(what: string, read: Read, body: string, words: readonly string[]): void;
};

/** Gives the body. Throws what nobody expects. */
const answered = async ({ crowd }: Visit, request: Request, status = 200): Promise<string> => {
  const response = await crowd.fetch(request);
  const body = await response.text();
  if (response.status !== status) throw new Error(`${request.url}: ${response.status} ${body.slice(0, 300)}`);
  return body;
};

/** Asks with a tool, is told a call of it, and brings the result. */
const tools = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of, draw } = visit;
  const [asked, found] = [visit.word(), visit.word()];
  const first = await answered(visit, posted(of, chatPath, askWithTool(asked)));
  const { id, choices, usage }: Value = JSON.parse(first);
  const call: Value = choices[0].message.tool_calls[0];
  const run = id.slice('chatcmpl-'.length, -'_1'.length);
  visit.check('a call', { text: call.function.arguments, usage: chatUsage(usage), run }, first, [asked]);
  crowd.calls.add(call.id, caller);
  await turns(draw.below(8));
  await bringForeign(visit, call.id);
  crowd.calls.drop(call.id);

  const last = await answered(visit, posted(of, chatPath, bringResults(asked, [call.id], found)));
  const end: Value = JSON.parse(last);
  const text = end.choices[0].message.content;
  visit.check('after its result', { text, usage: chatUsage(end.usage), run: null }, last, [asked, found]);
  const again = await answered(visit, got(of, `/v1/responses/resp_${run}_1`));
  visit.check('a call that is told again', { text: again, usage: null, run: null }, again, [asked]);
};

const chatPath = '/v1/chat/completions';

/** A result for another's call, alone or beside one's own, is refused as one for a call that never was; nothing is taken. */
const bringForeign = async (visit: Visit, own: string): Promise<void> => {
  const { crowd, caller, of, draw } = visit;
  const foreign = crowd.calls.notOf(caller, draw);
  if (foreign === undefined) return;
  const stolen = visit.word();
  const beside = draw.chance(0.5) ? [own] : [];
  const refusal = async (call: string): Promise<string> => {
    const response = await crowd.fetch(posted(of, chatPath, bringResults(stolen, [...beside, call], stolen)));
    return `${response.status} ${(await response.text()).replaceAll(call, '<call>')}`;
  };
  const [known, unknown] = [await refusal(foreign), await refusal(neverCalled)];
  if (known !== unknown || !known.startsWith('400 '))
    crowd.problem(`caller ${caller} brings a result for another's call: ${known}, not ${unknown}`);
  crowd.happened('a result for another’s call');
};

/** Starts one, writes to it, and asks it to finish. */
const resident = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of, draw } = visit;
  const kept = draw.chance(0.5);
  const said = kept ? visit.conversation('home') : [];
  const started = await answered(
    visit,
    posted(of, '/v1/echo', {
      input: question(nextOf(visit, said)),
      resident: true,
      wait: true,
      ...(kept ? { conversation: 'home' } : {}),
    }),
  );
  const { run, output }: Value = JSON.parse(started);
  visit.check('a resident', { text: output, usage: null, run }, started, said);
  await turns(draw.below(8));
  const wrote = await answered(
    visit,
    posted(of, `/v1/runs/${run}/messages`, { text: question(nextOf(visit, said)), answer: true }),
  );
  visit.check('a message', { text: JSON.parse(wrote).output, usage: null, run: null }, wrote, said);
  if (kept) {
    const dialog = await answered(visit, got(of, `/v1/runs/${run}/messages`));
    visit.check('what was said', { text: dialog, usage: null, run: null }, dialog, said);
  }
  await answered(visit, posted(of, `/v1/runs/${run}/finish`, {}), 202);
  const events = await answered(visit, got(of, `/v1/runs/${run}/events`));
  const own = new Set(said);
  if (!events.includes('"status":"completed"') || wordsIn(events).some((word) => !own.has(word)))
    crowd.problem(`caller ${caller}, events of a resident: ${events.slice(-300)}`);
};

const nextOf = (visit: Visit, said: string[]): string => {
  said.push(visit.word());
  return said.at(-1)!;
};

/** MCP with one stream of events. */
const stream = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of } = visit;
  const asked = visit.word();
  const response = await crowd.fetch(got(of, '/mcp/sse'));
  const events = eventsOf(response.body);
  try {
    const first = await events.next();
    const path = first !== null && 'data' in first ? first.data : '';
    crowd.sessions.add(path, caller);
    await answered(visit, posted(of, path, initialize()), 202);
    await answered(visit, posted(of, path, toolCall(asked)), 202);
    await writeToForeign(visit);
    let message = await events.message();
    if (message.id === 0) message = await events.message();
    // Nobody else's is answered here.
    if (message.id !== 1) throw new Error(`The stream brought ${JSON.stringify(message)}`);
    visit.check('', { text: calledText(message), usage: null, run: null }, JSON.stringify(message), [asked]);
    crowd.sessions.drop(path);
  } finally {
    await events.cancel();
  }
};

/** Another's session is unknown. */
const writeToForeign = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of, draw } = visit;
  const foreign = crowd.sessions.notOf(caller, draw);
  if (foreign === undefined) return;
  await answered(visit, posted(of, foreign, { ...toolCall(visit.word()), id: 2 }), 404);
  crowd.happened('a message to another’s session');
};

/** MCP over a WebSocket. */
const socket = async (visit: Visit): Promise<void> => {
  const { draw } = visit;
  const { url, token } = visit.of;
  const asked = visit.word();
  const texts: string[] = [];
  const opened = new WebSocket(`${url.replace('http', 'ws')}/mcp/ws`, 'mcp', { headers: headersFor(url, token) });
  const brought = Promise.withResolvers<string>();
  opened.on('error', brought.reject);
  opened.on('close', () => brought.reject(new Error('The socket was closed.')));
  opened.on('message', (data: Buffer) => {
    const text = data.toString('utf8');
    texts.push(text);
    if (JSON.parse(text).id === 1) brought.resolve(text);
  });
  opened.once('open', () => {
    opened.send(JSON.stringify(initialize()));
    opened.send(JSON.stringify(toolCall(asked)));
  });
  try {
    const body = await brought.promise;
    // What is for others would come now.
    await turns(draw.below(50));
    visit.check('', { text: calledText(JSON.parse(body)), usage: null, run: null }, texts.join('\n'), [asked]);
  } finally {
    opened.terminate();
  }
};

export const visits = { tools, resident, 'mcp-sse': stream, 'mcp-ws': socket } as const;

export type VisitKind = keyof typeof visits;

// Interactions of several requests: client tools, residents, and connections that stay open. On the way, each tries to reach
// another caller's resource that is waiting at that moment.
import { WebSocket } from 'ws';
import { eventReader, initialize } from '../../headends/mcp/messages.ts';
import { wordsIn } from './crowd-agent.ts';
import { calledText, chatUsage, getRequest, headersFor, postRequest, question, toolCall } from './crowd-requests.ts';
import type { Caller, ParsedAnswer, Value } from './crowd-requests.ts';
import { askWithTool, resultsBody, unknownCallId } from './crowd-tools.ts';
import { turns } from './crowd-world.ts';
import type { Crowd } from './crowd-world.ts';
import type { SeededRng } from './seeded-rng.ts';

export type Visit = {
  readonly crowd: Crowd;
  readonly caller: number;
  readonly of: Caller;
  readonly rng: SeededRng;
  /** A new word of this caller. */
  word(): string;
  /** The words of a conversation so far, to be added to. */
  conversation(name: string): string[];
  /** The answer must contain all of these words and no others. */
  check(what: string, read: ParsedAnswer, body: string, words: readonly string[]): void;
};

/** Returns the body. Throws on an unexpected status. */
const fetchBody = async ({ crowd }: Visit, request: Request, status = 200): Promise<string> => {
  const response = await crowd.fetch(request);
  const body = await response.text();
  if (response.status !== status) throw new Error(`${request.url}: ${response.status} ${body.slice(0, 300)}`);
  return body;
};

/** Asks with a tool, gets a call of it, and sends the result. */
const tools = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of, rng } = visit;
  const [word, found] = [visit.word(), visit.word()];
  const first = await fetchBody(visit, postRequest(of, chatPath, askWithTool(word)));
  const { id, choices, usage }: Value = JSON.parse(first);
  const call: Value = choices[0].message.tool_calls[0];
  const run = id.slice('chatcmpl-'.length, -'_1'.length);
  visit.check('a call', { text: call.function.arguments, usage: chatUsage(usage), run }, first, [word]);
  crowd.calls.add(call.id, caller);
  await turns(rng.below(8));
  await sendForeignResult(visit, call.id);
  crowd.calls.drop(call.id);

  const last = await fetchBody(visit, postRequest(of, chatPath, resultsBody(word, [call.id], found)));
  const end: Value = JSON.parse(last);
  const text = end.choices[0].message.content;
  visit.check('after its result', { text, usage: chatUsage(end.usage), run: null }, last, [word, found]);
  const again = await fetchBody(visit, getRequest(of, `/v1/responses/resp_${run}_1`));
  visit.check('a call that is told again', { text: again, usage: null, run: null }, again, [word]);
};

const chatPath = '/v1/chat/completions';

/** A result for another caller's call, beside an own result, is refused like one for a call that never existed. */
const sendForeignResult = async (visit: Visit, own: string): Promise<void> => {
  const { crowd, caller, of, rng } = visit;
  const foreign = crowd.calls.ofAnotherCaller(caller, rng);
  if (foreign === undefined) return;
  const stolen = visit.word();
  const refusal = async (call: string): Promise<string> => {
    const response = await crowd.fetch(postRequest(of, chatPath, resultsBody(stolen, [own, call], stolen)));
    return `${response.status} ${(await response.text()).replaceAll(call, '<call>')}`;
  };
  const [known, unknown] = [await refusal(foreign), await refusal(unknownCallId)];
  if (known !== unknown || !known.startsWith('400 '))
    crowd.reportProblem(`caller ${caller} brings a result for another's call: ${known}, not ${unknown}`);
  crowd.count('a result for another’s call');
};

/** Starts a resident, writes to it, and asks it to finish. */
const resident = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of, rng } = visit;
  const kept = rng.chance(0.5);
  const words = kept ? visit.conversation('home') : [];
  const started = await fetchBody(
    visit,
    postRequest(of, '/v1/echo', {
      input: question(addWord(visit, words)),
      resident: true,
      wait: true,
      ...(kept ? { conversation: 'home' } : {}),
    }),
  );
  const { run, output }: Value = JSON.parse(started);
  visit.check('a resident', { text: output, usage: null, run }, started, words);
  await turns(rng.below(8));
  const wrote = await fetchBody(
    visit,
    postRequest(of, `/v1/runs/${run}/messages`, { text: question(addWord(visit, words)), answer: true }),
  );
  visit.check('a message', { text: JSON.parse(wrote).output, usage: null, run: null }, wrote, words);
  if (kept) {
    const dialog = await fetchBody(visit, getRequest(of, `/v1/runs/${run}/messages`));
    visit.check('the dialog', { text: dialog, usage: null, run: null }, dialog, words);
  }
  await fetchBody(visit, postRequest(of, `/v1/runs/${run}/finish`, {}), 202);
  const events = await fetchBody(visit, getRequest(of, `/v1/runs/${run}/events`));
  const own = new Set(words);
  if (!events.includes('"status":"completed"') || wordsIn(events).some((word) => !own.has(word)))
    crowd.reportProblem(`caller ${caller}, events of a resident: ${events.slice(-300)}`);
};

const addWord = (visit: Visit, words: string[]): string => {
  words.push(visit.word());
  return words.at(-1)!;
};

/** MCP with one stream of events. */
const stream = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of } = visit;
  const word = visit.word();
  const response = await crowd.fetch(getRequest(of, '/mcp/sse'));
  const events = eventReader(response.body);
  try {
    const path = (await events.next())?.data ?? '';
    crowd.sessions.add(path, caller);
    await fetchBody(visit, postRequest(of, path, initialize()), 202);
    await fetchBody(visit, postRequest(of, path, toolCall(word)), 202);
    await writeToForeign(visit);
    let message = await events.message();
    if (message.id === 0) message = await events.message();
    // Answers to other callers must not arrive here.
    if (message.id !== 1) throw new Error(`The stream brought ${JSON.stringify(message)}`);
    visit.check('', { text: calledText(message), usage: null, run: null }, JSON.stringify(message), [word]);
    crowd.sessions.drop(path);
  } finally {
    await events.cancel();
  }
};

/** Another caller's session is unknown. */
const writeToForeign = async (visit: Visit): Promise<void> => {
  const { crowd, caller, of, rng } = visit;
  const foreign = crowd.sessions.ofAnotherCaller(caller, rng);
  if (foreign === undefined) return;
  await fetchBody(visit, postRequest(of, foreign, { ...toolCall(visit.word()), id: 2 }), 404);
  crowd.count('a message to another’s session');
};

/** MCP over a WebSocket. */
const socket = async (visit: Visit): Promise<void> => {
  const { rng } = visit;
  const { url, token } = visit.of;
  const word = visit.word();
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
    opened.send(JSON.stringify(toolCall(word)));
  });
  try {
    const body = await brought.promise;
    // Messages for other callers would arrive now.
    await turns(rng.below(50));
    visit.check('', { text: calledText(JSON.parse(body)), usage: null, run: null }, texts.join('\n'), [word]);
  } finally {
    opened.terminate();
  }
};

export const visits = { tools, resident, 'mcp-sse': stream, 'mcp-ws': socket } as const;

export type VisitKind = keyof typeof visits;

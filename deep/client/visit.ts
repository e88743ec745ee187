// A client of the server: asks for runs in every way, and notes all that it is told until the server is gone.
import type { Random } from '../random.ts';
import { clientToken, operatorToken } from '../subject/client-tokens.ts';
import type { ReadRun, ToldPiece } from './judge-told.ts';

type Json = Readonly<Record<string, unknown>>;

export type Visit = {
  readonly url: string;
  /** Distinguishes the keys of one visit from those of another. */
  readonly no: number;
  readonly random: Random;
  readonly tell: (piece: ToldPiece) => void;
  /** Keys of runs whose deletion was acknowledged, in this visit or one before it. */
  readonly deletedKeys: Map<string, string>;
};

const send = (url: string, path: string, body?: Json, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}${path}`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${clientToken}`, 'content-type': 'application/json', ...headers },
  });

/** Ends when the server is gone, or nothing is left to ask for. Never rejects. */
export const visit = async (given: Visit): Promise<void> => {
  const all = [detached, detached, waiting, streamed, keyed, deleted, cancelled, resident];
  await Promise.all(given.random.shuffled(all).map((one, nth) => one(given, nth).catch(() => undefined)));
};

type Activity = (given: Visit, nth: number) => Promise<void>;

/** The receipt of a run that nobody waits for, and then its events. */
const detached: Activity = async ({ url, no, tell }, nth) => {
  const reply = await send(url, '/v1/worker', { input: `visit ${no} ${nth}`, wait: false });
  if (reply.status !== 202) return;
  const { run } = (await reply.json()) as { run: string };
  tell({ what: 'run', run });
  await readStream(await send(url, `/v1/runs/${run}/events`, undefined, { accept: 'text/event-stream' }), tell);
};

const waiting: Activity = async ({ url, no, tell }, nth) => {
  const reply = await send(url, '/v1/worker', { input: `visit ${no} ${nth}` });
  tellAnswer((await reply.json()) as Json, tell);
};

const streamed: Activity = async ({ url, no, tell }, nth) =>
  readStream(await send(url, '/v1/worker', { input: `visit ${no} ${nth}`, stream: true }), tell);

/** The same request twice, also in the visits after this one. */
const keyed: Activity = async ({ url, no, tell }) => {
  for (const visited of [no, no, no - 1]) {
    const key = `key-${visited}`;
    const body = { input: `keyed ${visited}`, wait: false };
    const reply = await send(url, '/v1/worker', body, { 'idempotency-key': key });
    if (reply.status >= 300) continue;
    const { run } = (await reply.json()) as { run: string };
    tell({ what: 'key', key, run });
    const other = await send(url, '/v1/worker', { ...body, input: 'another request' }, { 'idempotency-key': key });
    await other.arrayBuffer();
    if (isDecided(other)) tell({ what: 'reused', key, run, status: other.status });
  }
};

/** A server that is full or stops, or a disk that fails, has decided nothing. */
const isDecided = ({ status }: Response): boolean => status < 500 && status !== 429;

const resentMax = 5;

/** A run that its caller deletes; its key begins no other one, whenever it comes again. */
const deleted: Activity = async ({ url, no, tell, deletedKeys }, nth) => {
  for (const [key, run] of [...deletedKeys].slice(-resentMax)) await reuseDeleted(url, { key, run }, tell);
  const key = `deleted-${no}`;
  const reply = await send(url, '/v1/worker', { input: `visit ${no} ${nth}` }, { 'idempotency-key': key });
  const answer = (await reply.json()) as Json;
  const { run } = answer;
  if (typeof run !== 'string') return;
  tellAnswer(answer, tell);
  tell({ what: 'deleting', run });
  const receipt = await fetch(`${url}/v1/runs/${run}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${clientToken}` },
  });
  await receipt.arrayBuffer();
  if (receipt.status !== 200) return;
  tell({ what: 'deleted', run });
  deletedKeys.set(key, run);
  await reuseDeleted(url, { key, run }, tell);
};

const reuseDeleted = async (
  url: string,
  { key, run }: { readonly key: string; readonly run: string },
  tell: Visit['tell'],
): Promise<void> => {
  const again = await send(url, '/v1/worker', { input: 'again', wait: false }, { 'idempotency-key': key });
  await again.arrayBuffer();
  if (isDecided(again)) tell({ what: 'reused', key, run, status: again.status });
};

const cancelled: Activity = async ({ url, no, tell }, nth) => {
  const reply = await send(url, '/v1/keeper', { input: `visit ${no} ${nth}`, resident: true, wait: false });
  if (reply.status !== 202) return;
  const { run } = (await reply.json()) as { run: string };
  tell({ what: 'run', run, livesOn: true });
  const receipt = await send(url, `/v1/runs/${run}/cancel`, {});
  await receipt.arrayBuffer();
  if (receipt.status < 300) tell({ what: 'cancel', run });
};

/** A long-lived agent that gets messages. */
const resident: Activity = async ({ url, no, tell }, nth) => {
  const reply = await send(url, '/v1/keeper', { input: `visit ${no} ${nth}`, resident: true, wait: false });
  if (reply.status !== 202) return;
  const { run } = (await reply.json()) as { run: string };
  tell({ what: 'run', run, livesOn: true });
  for (let message = 0; message < 3; message++) {
    const receipt = await send(url, `/v1/runs/${run}/messages`, { text: `message ${message}` });
    const body = (await receipt.json()) as { message?: string };
    if (body.message !== undefined) tell({ what: 'message', run, message: body.message });
  }
};

const tellAnswer = ({ run, status, output }: Json, tell: Visit['tell']): void => {
  if (typeof run !== 'string' || typeof status !== 'string' || typeof output !== 'string') return;
  tell({ what: 'answer', run, status, output });
};

/** Server-sent events. What has no id is provisional. */
const readStream = async (reply: Response, tell: Visit['tell']): Promise<void> => {
  if (!reply.ok || reply.body === null) return;
  let text = '';
  for await (const piece of reply.body.pipeThrough(new TextDecoderStream())) {
    const blocks = `${text}${piece}`.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) tellBlock(block, tell);
  }
};

const tellBlock = (block: string, tell: Visit['tell']): void => {
  const fields = Map.groupBy(block.split('\n'), (line) => line.slice(0, line.indexOf(':')));
  const valueOf = (name: string): string | undefined =>
    fields
      .get(name)
      ?.map((line) => line.slice(name.length + 1).trim())
      .join('\n');
  const [id, data] = [valueOf('id'), valueOf('data')];
  if (data === undefined) return;
  const event = JSON.parse(data) as Json & { readonly run?: string };
  if (id !== undefined && event.run !== undefined) tell({ what: 'event', run: event.run, id, event });
  if (valueOf('event') === 'outcome') tellAnswer(event, tell);
};

/**
 * The runs of these receipts, once they have ended; those that live on, once they have got the messages that were told. Those that do not
 * exist are missing.
 */
export const readRuns = async (
  url: string,
  told: readonly ToldPiece[],
  endWithinMs: number,
): Promise<ReadonlyMap<string, ReadRun>> => {
  const found = new Map<string, ReadRun>();
  const until = performance.now() + endWithinMs;
  for (const [run, pieces] of Map.groupBy(told, (piece) => piece.run)) {
    const livesOn = pieces.some((piece) => piece.what === 'run' && piece.livesOn === true);
    const isCancelled = pieces.some(({ what }) => what === 'cancel');
    const messages = pieces.flatMap((piece) => (piece.what === 'message' ? [JSON.stringify(piece.message)] : []));
    const read = await readRun(url, run, {
      until,
      isDone: ({ state, events }) =>
        state === 'ended' ||
        (livesOn && !isCancelled && messages.every((message) => JSON.stringify(events).includes(message))),
    });
    if (read !== null) found.set(run, read);
  }
  return found;
};

type Reading = { readonly until: number; readonly isDone: (read: ReadRun) => boolean };

const readRun = async (url: string, run: string, { until, isDone }: Reading): Promise<ReadRun | null> => {
  const headers = { authorization: `Bearer ${operatorToken}` };
  for (;;) {
    const reply = await send(url, `/v1/runs/${run}`, undefined, headers);
    const shown = (await reply.json()) as { readonly status: string; readonly output: string };
    if (reply.status === 404) return null;
    const { status, output } = shown;
    const page = await send(url, `/v1/runs/${run}/events?limit=10000`, undefined, headers);
    const body = await page.text();
    const isRead = reply.ok && page.ok;
    const state = unended.includes(status) ? status : 'ended';
    const read: ReadRun = isRead
      ? { run, state, status, output, events: (JSON.parse(body) as Pick<ReadRun, 'events'>).events }
      : { run, state, status, output, events: [], unreadable: `${reply.status}, ${page.status} ${body}` };
    if ((isRead && isDone(read)) || performance.now() > until) return read;
    // The server waits longer each time before it takes up a run again, and a client need not.
    if (status === 'interrupted') await (await send(url, `/v1/runs/${run}/resume`, {}, headers)).arrayBuffer();
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
};

const unended = ['running', 'waiting', 'interrupted'];

/** What the audit of a run finds. */
export const auditRun = async (url: string, run: string): Promise<readonly string[]> => {
  const reply = await send(url, `/v1/runs/${run}/audit`, undefined, { authorization: `Bearer ${operatorToken}` });
  const { ok, problems } = (await reply.json()) as { readonly ok?: boolean; readonly problems?: readonly Json[] };
  return ok === true ? [] : [`the audit of run ${run}: ${JSON.stringify(problems ?? reply.status)}`];
};

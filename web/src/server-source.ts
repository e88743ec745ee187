// The server behind the page.
//
//   page-no-cookie. The token is in the fragment of the link, which browsers never send; it is kept for this tab and sent as a
//       header. A cookie of 127.0.0.1 would be sent to every other port of the machine.
import type { JsonObject } from '#base';
import type { RunEvent } from '#contracts';
import { SourceProblem } from './source.ts';
import type { Source } from './source.ts';
import { isToken, readTokenLink } from './token-link.ts';

const tokenKey = 'cloister.token';

/** Takes the token out of the link, so that it is neither shown nor stored in the history; null: there is none that could be sent. */
export const takeToken = (): string | null => {
  const link = readTokenLink(location.hash);
  if (link !== null) {
    history.replaceState(null, '', `${location.pathname}${link.rest}`);
    if (link.token === null) forgetToken();
    else storeToken(link.token);
  }
  const token = sessionStorage.getItem(tokenKey);
  return token !== null && isToken(token) ? token : null;
};

export const storeToken = (token: string): void => sessionStorage.setItem(tokenKey, token);

export const forgetToken = (): void => sessionStorage.removeItem(tokenKey);

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `onRefused`: the server does not take the token, or no longer. */
export const openServerSource = (token: string, onRefused: (problem: SourceProblem) => void): Source => {
  const request = async (method: string, path: string, options: RequestInit = {}): Promise<Response> => {
    let response: Response;
    try {
      response = await fetch(`/v1${path}`, {
        ...options,
        method,
        headers: { authorization: `Bearer ${token}`, ...(options.headers as Record<string, string>) },
        cache: 'no-store',
      });
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      throw new SourceProblem('offline', 'The server does not answer.');
    }
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (problem.status === 401) onRefused(problem);
    throw problem;
  };
  const get = async <T>(path: string, query: Query = {}): Promise<T> =>
    (await (
      await request('GET', withQuery(path, query), { headers: { accept: 'application/json' } })
    )
      .json()
      .catch(connectionLost)) as T;
  const send = async <T>(method: 'POST' | 'DELETE', path: string, body?: JsonObject, key?: string): Promise<T> => {
    const headers = {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    };
    const response = await request(method, path, {
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text().catch(connectionLost);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const below = (run: string, rest = ''): string => `/runs/${encodeURIComponent(run)}${rest}`;
  return {
    get,
    bytes: async (path) => (await request('GET', path)).arrayBuffer(),
    send,
    me: () => get('/me'),
    runs: (query = {}) => get('/runs', { ...query }),
    run: (run) => get(below(run)),
    eventPage: (run, { after, limit = 10_000, details }) => get(below(run, '/events'), { after, limit, details }),
    follow: async (run, after, onEvent, signal) => {
      const path = withQuery(below(run, '/events'), { after: after ?? undefined });
      const response = await request('GET', path, { headers: { accept: 'text/event-stream' }, signal });
      if (response.body === null) throw new SourceProblem('offline', 'The server sent nothing.');
      await readEvents(response.body, onEvent);
    },
    transcript: (run, options = {}) => get(below(run, '/transcript'), options),
    explain: (run, cell, find) => get(below(run, '/explain'), { cell, find }),
    audit: (run) => get(below(run, '/audit')),
    windows: async (run) => (await get<{ windows: never[] }>(below(run, '/windows'))).windows,
    ledger: async (run) => (await get<{ cells: never[] }>(below(run, '/ledger'))).cells,
    tasks: async (run) => (await get<{ tasks: never[] }>(below(run, '/tasks'))).tasks,
    mail: async (run) => (await get<{ mail: never[] }>(below(run, '/mail'))).mail,
  };
};

/** In the middle of an answer. */
const connectionLost = (): never => {
  throw new SourceProblem('offline', 'The connection was cut.');
};

const withQuery = (path: string, query: Query): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
};

const problemOf = async (response: Response): Promise<SourceProblem> => {
  const body = (await response.json().catch(() => null)) as {
    error?: { code?: string; message?: string; suggestion?: string };
  } | null;
  const { code = `http_${response.status}`, message, suggestion } = body?.error ?? {};
  return new SourceProblem(code, message ?? `The server answered ${response.status}.`, suggestion, response.status);
};

/** The server sends something at least every 15 s: a connection that is silent for longer died, as those of a sleeping laptop do. */
const silenceMs = 40_000;

/** Resolves after `outcome`; rejects if the stream ends before. */
const readEvents = async (body: ReadableStream<Uint8Array>, onEvent: (event: RunEvent) => void): Promise<void> => {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = '';
  let silence: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      silence = setTimeout(() => void reader.cancel().catch(() => undefined), silenceMs);
      const { done, value } = await reader.read().catch(connectionLost);
      clearTimeout(silence);
      if (done) throw new SourceProblem('offline', 'The connection was cut.');
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const { event, data } = parseBlock(block);
        if (data === '') continue;
        if (event === 'outcome') return;
        const parsed = JSON.parse(data) as RunEvent & { error?: { code: string; message: string } };
        if (event === 'error')
          throw new SourceProblem(parsed.error?.code ?? 'defect', parsed.error?.message ?? 'The stream failed.');
        onEvent(parsed);
      }
    }
  } finally {
    clearTimeout(silence);
    await reader.cancel().catch(() => undefined);
  }
};

const parseBlock = (block: string): { event: string; data: string } => {
  let [event, data] = ['message', ''];
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice(7);
    else if (line.startsWith('data: ')) data += line.slice(6);
  }
  return { event, data };
};

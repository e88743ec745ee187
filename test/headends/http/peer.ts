// A client that writes the bytes it wants to: HTTP by hand over a socket.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** As it came. */
  readonly text: string;
};

export type Peer = {
  readonly socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** The next whole response. Rejects when the connection ends before it. */
  reply(): Promise<Reply>;
  /** All that is left, when the connection has ended. */
  readonly ended: Promise<string>;
};

export const openPeer = async (url: string): Promise<Peer> => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.setNoDelay(true);
  let received = Buffer.alloc(0);
  let wake = (): void => undefined;
  const closed = Promise.withResolvers<void>();
  let over = false;
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    wake();
  });
  // A connection that is cut is what some tests want.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    over = true;
    closed.resolve();
    wake();
  });
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    reply: async () => {
      for (;;) {
        const found = cutReply(received, over);
        if (found !== null) {
          received = found.rest;
          return found.reply;
        }
        if (over) throw new Error(`The connection ended after: ${received.toString('latin1').slice(0, 200)}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    ended: closed.promise.then(() => received.toString('utf8')),
  };
};

type Cut = { readonly reply: Reply; readonly rest: Buffer<ArrayBuffer> };

/** Interim responses are left out. */
const cutReply = (bytes: Buffer<ArrayBuffer>, over: boolean): Cut | null => {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(first.split(' ')[1]);
  const rest = bytes.subarray(end + 4);
  if (status === 100) return cutReply(rest, over);
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const made = (body: string, left: Buffer<ArrayBuffer>): Cut => ({
    reply: { status, headers, body, text: bytes.subarray(0, bytes.length - left.length).toString('utf8') },
    rest: left,
  });
  const length = headers.get('content-length');
  if (length !== null) {
    if (rest.length < Number(length)) return null;
    return made(rest.subarray(0, Number(length)).toString('utf8'), rest.subarray(Number(length)));
  }
  if (headers.get('transfer-encoding') === 'chunked') {
    const whole = unchunked(rest);
    return whole === null ? null : made(whole.body.toString('utf8'), whole.rest);
  }
  if (status === 204 || status === 101 || (!over && headers.get('connection') !== 'close')) return made('', rest);
  return over ? made(rest.toString('utf8'), Buffer.alloc(0)) : null;
};

type Unchunked = { readonly body: Buffer<ArrayBuffer>; readonly rest: Buffer<ArrayBuffer> };

const unchunked = (bytes: Buffer<ArrayBuffer>): Unchunked | null => {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at);
    if (line === -1) return null;
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    const from = line + 2;
    if (bytes.length < from + size + 2) return null;
    if (size === 0) return { body: Buffer.concat(parts), rest: bytes.subarray(from + 2) };
    parts.push(bytes.subarray(from, from + size));
    at = from + size + 2;
  }
};

export type Head = {
  readonly method?: string;
  readonly path: string;
  readonly version?: string;
  /** In this order, as they are; several may have one name. */
  readonly headers: readonly (readonly [string, string])[];
};

export const headOf = ({ method = 'GET', path, version = '1.1', headers }: Head): string =>
  `${method} ${path} HTTP/${version}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;

/** One request on a connection of its own. With `endless`, its body begins and never ends. */
export const askOnce = async (url: string, head: Head, body?: string): Promise<Reply> => {
  const peer = await openPeer(url);
  const framing: readonly (readonly [string, string])[] =
    body === undefined
      ? []
      : body === 'endless'
        ? [['transfer-encoding', 'chunked']]
        : [['content-length', String(Buffer.byteLength(body))]];
  peer.write(headOf({ ...head, headers: [...head.headers, ...framing] }));
  if (body === 'endless') peer.write('10\r\n{"input": "endles\r\n');
  else if (body !== undefined) peer.write(body);
  try {
    return await peer.reply();
  } finally {
    peer.socket.destroy();
  }
};

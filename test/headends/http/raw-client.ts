// A client that can write any bytes: HTTP by hand over a socket.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export type RawReply = {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The raw response. */
  readonly text: string;
};

export type RawConnection = {
  readonly socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** The next complete response. Rejects if the connection ends before it. */
  nextReply(): Promise<RawReply>;
  /** The remaining bytes, once the connection has ended. */
  readonly ended: Promise<string>;
};

export const openRawConnection = async (url: string): Promise<RawConnection> => {
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
  // Some tests want the connection to be cut.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    over = true;
    closed.resolve();
    wake();
  });
  return {
    socket,
    write: (bytes) => void socket.write(bytes),
    nextReply: async () => {
      for (;;) {
        const found = parseReply(received, over);
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

type ParsedReply = { readonly reply: RawReply; readonly rest: Buffer<ArrayBuffer> };

/** Skips interim responses. */
const parseReply = (bytes: Buffer<ArrayBuffer>, over: boolean): ParsedReply | null => {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(first.split(' ')[1]);
  const rest = bytes.subarray(end + 4);
  if (status === 100) return parseReply(rest, over);
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const made = (body: string, left: Buffer<ArrayBuffer>): ParsedReply => ({
    reply: { status, headers, body, text: bytes.subarray(0, bytes.length - left.length).toString('utf8') },
    rest: left,
  });
  const length = headers.get('content-length');
  if (length !== null) {
    if (rest.length < Number(length)) return null;
    return made(rest.subarray(0, Number(length)).toString('utf8'), rest.subarray(Number(length)));
  }
  if (headers.get('transfer-encoding') === 'chunked') {
    const whole = decodeChunked(rest);
    return whole === null ? null : made(whole.body.toString('utf8'), whole.rest);
  }
  if (status === 204 || status === 101 || (!over && headers.get('connection') !== 'close')) return made('', rest);
  return over ? made(rest.toString('utf8'), Buffer.alloc(0)) : null;
};

type DecodedChunks = { readonly body: Buffer<ArrayBuffer>; readonly rest: Buffer<ArrayBuffer> };

const decodeChunked = (bytes: Buffer<ArrayBuffer>): DecodedChunks | null => {
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

export type RequestHead = {
  readonly method?: string;
  readonly path: string;
  readonly version?: string;
  /** Sent unchanged and in this order; a name may occur several times. */
  readonly headers: readonly (readonly [string, string])[];
};

export const encodeHead = ({ method = 'GET', path, version = '1.1', headers }: RequestHead): string =>
  `${method} ${path} HTTP/${version}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;

/** One request on its own connection. The body `endless` starts and never ends. */
export const sendOnce = async (url: string, head: RequestHead, body?: string): Promise<RawReply> => {
  const peer = await openRawConnection(url);
  const framing: readonly (readonly [string, string])[] =
    body === undefined
      ? []
      : body === 'endless'
        ? [['transfer-encoding', 'chunked']]
        : [['content-length', String(Buffer.byteLength(body))]];
  peer.write(encodeHead({ ...head, headers: [...head.headers, ...framing] }));
  if (body === 'endless') peer.write('10\r\n{"input": "endles\r\n');
  else if (body !== undefined) peer.write(body);
  try {
    return await peer.nextReply();
  } finally {
    peer.socket.destroy();
  }
};

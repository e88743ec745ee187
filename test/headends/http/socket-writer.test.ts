// How many bytes wait for the reader of a WebSocket.
import { array, assert as check, asyncProperty, constantFrom, oneof } from 'fast-check';
import { virtualClock } from 'cloister/testkit';
import { expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { SocketWriter } from '#testing/headends/http';

const kib = 1024;

/** A socket that takes a part when the test says so. */
const open = () => {
  const clock = virtualClock();
  const parts: { readonly bytes: Buffer; readonly fin: boolean; readonly taken: () => void }[] = [];
  const seen = { texts: [] as string[], cut: false, closed: false };
  let started: Buffer[] = [];
  const socket = {
    OPEN: 1,
    readyState: 1,
    send: (bytes: Buffer, { fin }: { readonly fin: boolean }, taken: () => void) =>
      socket.readyState === 1 ? parts.push({ bytes, fin, taken }) : queueMicrotask(taken),
    terminate: () => {
      seen.cut = true;
      socket.readyState = 3;
      for (const { taken } of parts.splice(0)) taken();
    },
    close: () => {
      seen.closed = true;
      socket.readyState = 2;
    },
  };
  const writer = new SocketWriter(socket as unknown as WebSocket, { clock, stallMs: 30_000 });
  /** Takes one part; returns whether there was one. */
  const take = async (): Promise<boolean> => {
    const part = parts.shift();
    if (part === undefined) return false;
    started.push(part.bytes);
    if (part.fin) {
      seen.texts.push(Buffer.concat(started).toString());
      started = [];
    }
    part.taken();
    await new Promise(setImmediate);
    return true;
  };
  return { clock, writer, parts, seen, take };
};

const text = oneof(
  constantFrom(1, 100, 30 * kib, 64 * kib, 64 * kib + 1, 200 * kib).map((chars) => 'x'.repeat(chars)),
  constantFrom(1, 20 * kib, 64 * kib, 90 * kib).map((chars) => '€'.repeat(chars)),
  constantFrom(300 * kib).map((chars) => 'ä'.repeat(chars)),
);

// invariant: socket-bytes-bounded
test('more than 256 KiB wait only as a single text; past that the socket is cut', () =>
  check(
    asyncProperty(array(oneof(text, constantFrom('take' as const)), { maxLength: 60, size: 'max' }), async (steps) => {
      const { writer, seen, take, parts, clock } = open();
      const sent: string[] = [];
      for (const step of steps) {
        if (step === 'take') await take();
        else {
          const waiting = sent.slice(seen.texts.length).map((one) => Buffer.byteLength(one));
          const all = waiting.reduce((sum, bytes) => sum + bytes, Buffer.byteLength(step));
          void writer.send(step);
          if (waiting.length > 0 && all > 256 * kib) {
            expect(seen.cut).toBe(true);
            break;
          }
          sent.push(step);
        }
        expect(seen.cut).toBe(false);
        // Only a small part of it has been handed to the socket.
        expect(parts.length).toBeLessThanOrEqual(1);
        expect(parts[0]?.bytes.length ?? 0).toBeLessThanOrEqual(64 * kib);
      }
      if (!seen.cut) {
        while (await take());
        expect(seen.texts).toEqual(sent);
      }
      await new Promise(setImmediate);
      expect(clock.waiting).toBe(0);
    }),
    { numRuns: 200 },
  ));

test('a sender that awaits each text can send any amount, and the close comes last', async () => {
  const { writer, seen, take } = open();
  const texts = ['x'.repeat(2_000 * kib), 'note', '€'.repeat(1_000 * kib), ''];
  const sending = (async () => {
    for (const one of texts) await writer.send(one);
  })();
  await new Promise(setImmediate);
  while (await take());
  await sending;
  void writer.send('last');
  writer.close();
  void writer.send('too late');
  expect(seen.closed).toBe(false);
  while (await take());
  expect(seen).toEqual({ texts: [...texts, 'last'], cut: false, closed: true });
});

// invariant: socket-stalled-reader-cut
test('a reader that takes a part every 29 seconds is kept, and one that takes none for 30 is cut', async () => {
  const { writer, seen, take, clock } = open();
  const sent = writer.send('x'.repeat(640 * kib));
  for (let part = 0; part < 9; part++) {
    await clock.advance(29_000);
    await take();
  }
  expect(seen.cut).toBe(false);
  await clock.advance(30_000);
  expect(seen.cut).toBe(true);
  await sent;
  expect(clock.waiting).toBe(0);
});

// Limits on incomplete WebSocket messages: they count against the body budget, and have the same time limit as a body.
//
//   socket-partial-message-counts. A message that arrives whole costs nothing: a chunk counts only if no message ended in it.
//       The start of a message that shares a chunk with the end of another is not counted; it is smaller than one read of the
//       socket.
import { clientError } from '#headends/shared';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { CloisterError } from '#base';
import type { Caller, Clock, CancelTimer } from '#contracts';
import type { BodyBudget } from './body-budget.ts';
import type { HttpLimits } from './limits.ts';

type SocketInputOptions = { readonly bodies: BodyBudget; readonly limits: HttpLimits; readonly clock: Clock };

/** Cuts the socket if its input exceeds the shared budget, or comes too slowly. `bytes`: the stream that the socket reads from. */
export const limitSocketInput = (
  socket: WebSocket,
  bytes: Duplex,
  caller: Caller,
  { bodies, limits, clock }: SocketInputOptions,
): void => {
  const body = bodies.open(caller.name, 0);
  let [held, control, ended] = [0, 0, false];
  let stop: CancelTimer | undefined;
  const cut = (code: number, error: unknown): void => {
    socket.close(code, clientError(error).message.slice(0, 120));
    socket.terminate();
  };
  const hold = (now: number): void => {
    held = now;
    body.hold(now);
    if (now === 0) {
      stop?.();
      stop = undefined;
    } else stop ??= clock.timer(limits.requestTimeoutMs, () => cut(1008, new CloisterError('request_timeout')));
  };
  socket.on('message', () => (ended = true));
  // Control frames may arrive between two parts of a message, and do not belong to it.
  const skip = (data: Buffer): void => void (control += controlHeadBytes + data.length);
  socket.on('ping', skip);
  socket.on('pong', skip);
  // This listener runs after the socket's own, so a message that has been emitted by now is no longer buffered.
  bytes.on('data', (part: Buffer) => {
    const now = ended ? 0 : Math.max(0, held + part.length - control);
    [control, ended] = [0, false];
    try {
      if (socket.readyState === socket.OPEN) hold(now);
    } catch (error) {
      cut(1013, error);
    }
  });
  bytes.once('close', () => hold(0));
};

/** The header of a client's ping or pong: two bytes, and four for the mask. */
const controlHeadBytes = 6;

// Texts on their way in over a WebSocket: a half of one takes up room as a body does, and may take as long.
//
//   T1. What comes whole costs nothing: a part of the stream counts if no text ended in it. What of the next text came together with the end of
//       one does not; it is less than what a socket reads at once.
import { clientError } from '#headends/shared';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { CloisterError } from '#base';
import type { Caller, Clock, CancelTimer } from '#contracts';
import type { BodyBudget } from './body-budget.ts';
import type { HttpLimits } from './limits.ts';

export type ArrivingOptions = { readonly bodies: BodyBudget; readonly limits: HttpLimits; readonly clock: Clock };

/** Cuts the socket of who sends too much at once with all others, or too slowly. `bytes`: what the socket reads from. */
export const watchArriving = (
  socket: WebSocket,
  bytes: Duplex,
  caller: Caller,
  { bodies, limits, clock }: ArrivingOptions,
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
  // Between two parts of a text there may be others that are not of it.
  const skip = (data: Buffer): void => void (control += controlHeadBytes + data.length);
  socket.on('ping', skip);
  socket.on('pong', skip);
  // Behind the socket's own listener: what it has told of by now, it keeps no longer.
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

/** Of a ping or pong from a client: two bytes, and four that mask what it says. */
const controlHeadBytes = 6;

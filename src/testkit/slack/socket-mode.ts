// Socket Mode: envelopes over WebSockets, acknowledged one by one.
import type { WebSocket } from 'ws';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { SlackConnection, SlackConsumer, SlackEnvelope } from './delivery-queue.ts';
import { parseJson } from './call-arguments.ts';

/** Connects a socket that an app has opened. */
export const serveSocket = (
  socket: WebSocket,
  { app, count }: { readonly app: string; readonly count: number },
  connect: (consumer: SlackConsumer) => SlackConnection,
): void => {
  const waiting = new Map<string, (body: JsonObject | undefined) => void>();
  const connection = connect(
    (envelope) =>
      new Promise((resolve) => {
        waiting.set(envelope.id, resolve);
        socket.send(JSON.stringify(wireEnvelope(envelope)));
      }),
  );
  socket.on('message', (data: Buffer) => {
    const message = parseJson(data.toString('utf8'));
    const id = isObject(message) ? message['envelope_id'] : undefined;
    if (!isObject(message) || typeof id !== 'string') return;
    const { payload } = message;
    waiting.get(id)?.(isObject(payload) && Object.keys(payload).length > 0 ? payload : undefined);
    waiting.delete(id);
  });
  socket.on('close', () => connection.end());
  socket.on('error', () => socket.terminate());
  const info = { host: 'fake', build_number: 1, approximate_connection_time: 18_060 };
  const hello = { type: 'hello', num_connections: count, debug_info: info, connection_info: { app_id: app } };
  socket.send(JSON.stringify(hello));
};

const wireEnvelope = ({ id, type, payload, retryAttempt, retryReason }: SlackEnvelope): JsonObject => ({
  envelope_id: id,
  type,
  accepts_response_payload: type !== 'events_api',
  payload,
  ...(type === 'events_api' ? { retry_attempt: retryAttempt, retry_reason: retryReason ?? '' } : {}),
});

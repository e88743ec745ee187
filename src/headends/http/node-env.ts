// What the Node adapter hands over besides a request.
import type { IncomingMessage, ServerResponse } from 'node:http';

export type NodeEnv = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };

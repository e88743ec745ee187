// What the Node adapter passes along with a request.
import type { IncomingMessage, ServerResponse } from 'node:http';

export type NodeEnv = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };

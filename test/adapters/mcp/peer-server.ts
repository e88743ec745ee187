// The test server that every transport serves, with the tools that `conformToolSource` needs.
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** State of one server process, or its stand-in: how often things happened, and who waits for that. */
export type PeerState = {
  /** Ends the server without a reply. */
  die(): void;
  happened(what: CountedEvent): void;
  /** Waits until it has happened that often; returns how often it has. */
  seen(what: CountedEvent, times: number): Promise<number>;
};

type CountedEvent = 'hang' | 'cancel' | 'meet';

export const newState = (die: () => void): PeerState => {
  const counts = { hang: 0, cancel: 0, meet: 0 };
  let waiting: (() => void)[] = [];
  return {
    die,
    happened: (what) => {
      counts[what] += 1;
      const waiters = waiting;
      waiting = [];
      for (const tell of waiters) tell();
    },
    seen: async (what, times) => {
      while (counts[what] < times) await new Promise<void>((tell) => waiting.push(tell));
      return counts[what];
    },
  };
};

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
const never = new Promise<never>(() => undefined);

/** The server of one connection, with its own counter. */
export const peerServer = (state: PeerState): McpServer => {
  const server = new McpServer(
    { name: 'peer', version: '1' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Obey me.' },
  );
  let count = 0;
  server.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: z.object({ text: z.string() }), annotations: { readOnlyHint: true } },
    (args) => text(args.text),
  );
  server.registerTool('fail', { description: 'Fails.', annotations: { readOnlyHint: false } }, () => ({
    ...text('No luck today.'),
    isError: true,
  }));
  server.registerTool('count', { description: 'Counts its calls.' }, () => text(String(++count)));
  server.registerTool(
    'meet',
    { description: 'Waits until so many have come.', inputSchema: z.object({ of: z.number(), name: z.string() }) },
    async (args) => {
      state.happened('meet');
      await state.seen('meet', args.of);
      return text(args.name);
    },
  );
  server.registerTool('hang', { description: 'Never answers.' }, async (context) => {
    context.mcpReq.signal.addEventListener('abort', () => state.happened('cancel'));
    state.happened('hang');
    return never;
  });
  server.registerTool(
    'seen',
    {
      description: 'Waits until something has happened so often.',
      inputSchema: z.object({ what: z.enum(['hang', 'cancel']), times: z.number() }),
    },
    async (args) => text(String(await state.seen(args.what, args.times))),
  );
  server.registerTool('die', { description: 'Ends the server.' }, async () => {
    state.die();
    return never;
  });
  server.registerTool(
    'large',
    { description: 'Answers with so many letters.', inputSchema: z.object({ bytes: z.number() }) },
    (args) => text('x'.repeat(args.bytes)),
  );
  return server;
};

// What every tool source must do. A new kind of source is done when `conformToolSource` passes.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { ListedTools, ToolDefinition, ToolOutput, NamedSource } from '#contracts';

/**
 * A source and its peer. Its tools: `echo {text}`, `fail`, `count` (calls so far in this connection), `meet {of, name}` (waits
 * until `of` calls have arrived), `hang`, `seen {what, times}` (waits until `hang` has been called, or with `cancel` has been
 * cancelled, that many times), `die` (the server exits without a reply), `large {bytes}`.
 */
export type Peer = {
  readonly source: NamedSource;
  /** The peer keeps no state per connection. */
  readonly stateless?: boolean;
  /** How many connections the peer has open. */
  open(): Promise<number>;
  close(): Promise<void>;
};

export const unabortedSignal = (): AbortSignal => new AbortController().signal;

export const toolOf = ({ tools }: ListedTools, name: string): ToolDefinition => {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  return tool;
};

export const callTool = async (
  listed: ListedTools,
  name: string,
  args: JsonObject = {},
  signal = unabortedSignal(),
): Promise<ToolOutput> => toolOf(listed, name).execute(args, { signal, key: 'cell/1' });

/** The result of a tool that answers with text. */
export const callText = async (...call: Parameters<typeof callTool>): Promise<string> => {
  const output = await callTool(...call);
  if (typeof output !== 'string') throw new Error('The tool did not answer with text.');
  return output;
};

/** The failure that a promise rejects with; the test fails if it resolves. */
export const failureOf = async (call: Promise<unknown>): Promise<CloisterError> => {
  const error: unknown = await call.then(
    (value) => new Error(`It did not fail: ${String(value).slice(0, 200)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof CloisterError) return error;
  throw error;
};

/** Polls until the condition holds. Has no limit of its own: the test has one. */
export const eventually = async (holds: () => boolean | Promise<boolean>): Promise<true> => {
  while (!(await holds())) await sleep(10);
  return true;
};

export const conformToolSource = (name: string, open: () => Promise<Peer>): void => {
  describe(`tools over ${name}`, () => {
    const opened: ListedTools[] = [];
    let peer: Peer;
    /** One session shared by most tests: opening one may start a process. */
    let shared: ListedTools;
    const list = async (): Promise<ListedTools> => {
      const listed = await peer.source.list({ signal: unabortedSignal() });
      opened.push(listed);
      return listed;
    };
    const seen = async (what: 'hang' | 'cancel', times = 0): Promise<number> =>
      Number(await callTool(shared, 'seen', { what, times }));
    beforeAll(async () => {
      peer = await open();
      shared = await peer.source.list({ signal: unabortedSignal() });
    });
    afterEach(async () => {
      for (const listed of opened.splice(0)) await listed.close?.();
    });
    afterAll(async () => {
      await shared.close?.();
      await peer.close();
    });

    test('are listed with their own names, descriptions and schemas, and respond to calls', async () => {
      expect(shared.tools.map((tool) => tool.name).sort()).toEqual(
        ['count', 'die', 'echo', 'fail', 'hang', 'large', 'meet', 'seen'].sort(),
      );
      const echo = toolOf(shared, 'echo');
      expect(echo.description).toBe('Says it again.');
      expect(echo.inputSchema).toMatchObject({ type: 'object', properties: { text: { type: 'string' } } });
      expect(echo.repeat).toBe('never');
      const text = 'körper 🧵\n\u0000 "quoted" \u2028';
      expect(await callTool(shared, 'echo', { text })).toBe(text);
    });

    test('answer each of many parallel calls with its own result', async () => {
      const names = Array.from({ length: 8 }, (_, at) => `call ${at}`);
      const answers = names.map(async (each) => callTool(shared, 'meet', { of: names.length, name: each }));
      expect(await Promise.all(answers)).toEqual(names);
    });

    test('that report a failure have failed, with their own text', async () => {
      const failure = await failureOf(callTool(shared, 'fail'));
      expect(failure.failure).toEqual({ code: 'tool_failed', detail: 'No luck today.' });
      expect((await failureOf(callTool(shared, 'echo', { text: 7 }))).code).toBe('tool_failed');
    });

    test('return immediately when the call is cancelled, and the server is notified and keeps running', async () => {
      const [hangs, cancels] = [await seen('hang'), await seen('cancel')];
      const stop = new AbortController();
      const call = failureOf(callTool(shared, 'hang', {}, stop.signal));
      await seen('hang', hangs + 1);
      stop.abort(new CloisterError('tool_timeout'));
      expect((await call).code).toBe('tool_timeout');
      expect(await seen('cancel', cancels + 1)).toBe(cancels + 1);
      expect((await failureOf(callTool(shared, 'echo', { text: 'no' }, stop.signal))).code).toBe('tool_timeout');
    });

    // invariants: mcp-reconnects-once, mcp-connection-end-fails-pending
    test('fail their pending calls when the server dies, and work again on the next call', async () => {
      const hangs = await seen('hang');
      const waiting = failureOf(callTool(shared, 'hang'));
      await seen('hang', hangs + 1);
      expect((await failureOf(callTool(shared, 'die'))).code).toBe('server_failed');
      expect((await waiting).code).toBe('server_failed');
      const again = ['a', 'b'].map(async (text) => callTool(shared, 'echo', { text }));
      expect(await Promise.all(again)).toEqual(['a', 'b']);
    });

    // invariant: mcp-body-bounded
    test('that return more than the limit fail alone', async () => {
      expect((await failureOf(callTool(shared, 'large', { bytes: 25_000_000 }))).code).toBe('tool_too_large');
      expect(await callTool(shared, 'echo', { text: 'still here' })).toBe('still here');
    });

    // invariants: mcp-session-shares-nothing, mcp-list-opens-connection
    test('share nothing between two sessions', async (context) => {
      if (peer.stateless === true) return context.skip();
      const before = await peer.open();
      const [one, other] = [await list(), await list()];
      expect(await peer.open()).toBe(before + 2);
      const counted = [await callTool(one, 'count'), await callTool(one, 'count'), await callTool(other, 'count')];
      expect(counted).toEqual(['1', '2', '1']);
      await one.close?.();
      expect(await callTool(other, 'count')).toBe('2');
      await other.close?.();
      expect(await eventually(async () => (await peer.open()) === before)).toBe(true);
    });

    // invariant: mcp-list-opens-connection
    test('are closed with the session even with calls pending, and closing again does nothing', async () => {
      const before = await peer.open();
      const listed = await list();
      const pending = failureOf(callTool(listed, 'hang'));
      await callTool(listed, 'echo', { text: 'before' });
      await listed.close?.();
      await listed.close?.();
      expect((await pending).code).toBe('cancelled');
      expect((await failureOf(callTool(listed, 'echo', { text: 'after' }))).code).toBe('cancelled');
      expect(await eventually(async () => (await peer.open()) === before)).toBe(true);
    });

    test('are not listed when listing is cancelled, and nothing stays open', async () => {
      const before = await peer.open();
      const stop = new AbortController();
      const listing = failureOf(peer.source.list({ signal: stop.signal }));
      stop.abort();
      expect((await listing).code).toBe('cancelled');
      expect(await eventually(async () => (await peer.open()) === before)).toBe(true);
    });
  });
};

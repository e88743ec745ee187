import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mcpSource } from '#adapters/mcp';
import type { ListedTools } from '#contracts';
import { callText, callTool, eventually, failureOf, unabortedSignal } from '../../conformance/tool-source.ts';
import { neverMs, slowdown } from '../../slow-machine.ts';
import { stdioServer } from './peers.ts';
import { isAlive, membersOf } from './processes.ts';

const tooLarge = 50_000_000;

describe('a server process that', () => {
  let listed: ListedTools;
  const echo = async (): Promise<unknown> => callTool(listed, 'echo', { text: 'still here' });
  beforeAll(async () => {
    listed = await mcpSource(stdioServer('hostile-stdio.ts')).list({ signal: unabortedSignal() });
  });
  afterAll(async () => listed.close?.());

  // invariant: mcp-request-fails-alone
  test.each(['largeIdFirst', 'largeIdLast'])('returns 50 MB fails only that call: %s', async (name) => {
    const pending = callTool(listed, 'askForModel');
    const [large, small] = [failureOf(callTool(listed, name, { bytes: tooLarge })), echo()];
    const failure = await large;
    expect(failure.code).toBe('tool_too_large');
    expect(failure.message).toMatch(/is 50,000,\d\d\d bytes; the limit is 24,000,000/u);
    expect(await small).toBe('still here');
    expect(await pending).toContain('-32601');
  });

  test('returns 50 MB with an unreadable id fails the one pending call', async () => {
    const stop = new AbortController();
    const givenUp = failureOf(callTool(listed, 'hang', {}, stop.signal));
    expect(await echo()).toBe('still here');
    stop.abort();
    await givenUp;
    expect((await failureOf(callTool(listed, 'largeIdHidden', { bytes: tooLarge }))).code).toBe('tool_too_large');
    expect(await echo()).toBe('still here');
  });

  test('sends an unsolicited 50 MB fails no call', async () => {
    expect(await callTool(listed, 'largeNotification', { bytes: tooLarge })).toBe('after the notification');
  });

  test('returns exactly the maximum size is read', async () => {
    const text = await callText(listed, 'largeIdFirst', { bytes: 23_999_000 });
    expect(text.length).toBe(23_999_000);
  });

  test('writes 100 MB to stderr is not blocked, and only the end is kept', async () => {
    expect(await callTool(listed, 'floodStderr', { bytes: 100_000_000 })).toBe('written');
    const { failure } = await failureOf(callTool(listed, 'dieBySignal'));
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toMatch(/was killed by SIGKILL.*flood flood.*the end of the flood$/su);
    expect(failure.detail!.length).toBeLessThan(2_200);
    expect(await echo()).toBe('still here');
  });

  // invariant: mcp-message-never-throws
  test('writes garbage to stdout is still understood', async () => {
    expect(await callTool(listed, 'garbage')).toBe('after the garbage');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('returns a value nested 50,000 levels deep has it passed on unchanged', async () => {
    const [deep, other] = [callTool(listed, 'deep'), echo()];
    expect(Object.keys((await deep) as object)).toEqual(['type', 'value']);
    expect(await other).toBe('still here');
  });

  // invariant: mcp-connection-end-fails-pending
  test('dies is reported with its exit code and last output, without colours', async () => {
    const hanging = failureOf(callTool(listed, 'hang'));
    const { failure } = await failureOf(callTool(listed, 'dieLoud'));
    expect(failure).toEqual({
      code: 'server_failed',
      detail: 'Server "peer" exited with code 3. Its last output on stderr: the reason is here',
    });
    expect((await hanging).failure).toEqual(failure);
    expect(await echo()).toBe('still here');
  });

  test('asks for a model is told that there is none', async () => {
    expect(await callTool(listed, 'askForModel')).toContain('-32601');
  });

  test('hangs can be abandoned repeatedly', async () => {
    for (let time = 0; time < 3; time++) {
      const stop = new AbortController();
      const call = failureOf(callTool(listed, 'hang', {}, stop.signal));
      expect(await echo()).toBe('still here');
      stop.abort();
      expect((await call).code).toBe('cancelled');
    }
  });

  // invariant: mcp-process-group-dies
  test('has children and does not exit by itself is gone with all of them after close', async () => {
    const other = await mcpSource(stdioServer('hostile-stdio.ts')).list({ signal: unabortedSignal() });
    const family = JSON.parse(await callText(other, 'family')) as number[];
    expect(family.map(isAlive)).toEqual([true, true, true]);
    expect(membersOf(family[0]!)).toBeGreaterThan(3);
    await other.close?.();
    expect(await eventually(() => !family.some(isAlive) && membersOf(family[0]!) === 0)).toBe(true);
  });

  test('dies leaves no children either, while the session continues', async () => {
    const family = JSON.parse(await callText(listed, 'family')) as number[];
    await failureOf(callTool(listed, 'dieBySignal'));
    expect(await eventually(() => !family.some(isAlive) && membersOf(family[0]!) === 0)).toBe(true);
  });
});

describe.concurrent('connecting to a server process that', () => {
  const list = async (mode: string, connectTimeoutMs = neverMs): Promise<ListedTools> =>
    mcpSource(stdioServer('hostile-stdio.ts', [mode], { connectTimeoutMs })).list({ signal: unabortedSignal() });

  test.each(['end-at-the-unknown', 'silent-at-the-unknown'])(
    'only speaks the older protocol works: %s',
    async (mode) => {
      const listed = await list(mode, 6_000 * slowdown());
      expect(await callTool(listed, 'echo', { text: 'hello' })).toBe('hello');
      await listed.close?.();
    },
  );

  test('hangs fails after the timeout', async () => {
    const { failure } = await failureOf(list('hang', 300));
    expect(failure).toEqual({ code: 'server_failed', detail: 'Server "peer" did not respond within 300 ms.' });
  });

  test('crashes on startup reports why', async () => {
    const { failure } = await failureOf(list('crash'));
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toBe('Server "peer" exited with code 3. Its last output on stderr: API_KEY is not set');
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mcpSource } from '#adapters/mcp';
import type { ListedTools } from '#contracts';
import { callText, callTool, eventually, failureOf, live } from '../../conformance/tool-source.ts';
import { stdioServer } from './peers.ts';
import { isAlive, membersOf } from './processes.ts';

const tooLarge = 50_000_000;

describe('a server process that', () => {
  let listed: ListedTools;
  const echo = async (): Promise<unknown> => callTool(listed, 'echo', { text: 'still here' });
  beforeAll(async () => {
    listed = await mcpSource(stdioServer('hostile-stdio.ts')).list({ signal: live() });
  });
  afterAll(async () => listed.close?.());

  test.each(['largeIdFirst', 'largeIdLast'])('returns 50 MB hurts only that call: %s', async (name) => {
    const pending = callTool(listed, 'askForModel');
    const [large, small] = [failureOf(callTool(listed, name, { bytes: tooLarge })), echo()];
    const failure = await large;
    expect(failure.code).toBe('tool_too_large');
    expect(failure.message).toMatch(/was 50,000,\d\d\d bytes; at most 24,000,000/u);
    expect(await small).toBe('still here');
    expect(await pending).toContain('-32601');
  });

  test('returns 50 MB without showing whose they are hurts the one call that waits', async () => {
    const stop = new AbortController();
    const givenUp = failureOf(callTool(listed, 'hang', {}, stop.signal));
    expect(await echo()).toBe('still here');
    stop.abort();
    await givenUp;
    expect((await failureOf(callTool(listed, 'largeIdHidden', { bytes: tooLarge }))).code).toBe('tool_too_large');
    expect(await echo()).toBe('still here');
  });

  test('says 50 MB that nobody asked for hurts no call', async () => {
    expect(await callTool(listed, 'largeNotification', { bytes: tooLarge })).toBe('after the notification');
  });

  test('returns just as much as is read is heard', async () => {
    const text = await callText(listed, 'largeIdFirst', { bytes: 23_999_000 });
    expect(text.length).toBe(23_999_000);
  });

  test('writes 100 MB to stderr is not held up, and little of it is kept', async () => {
    expect(await callTool(listed, 'floodStderr', { bytes: 100_000_000 })).toBe('written');
    const { failure } = await failureOf(callTool(listed, 'dieBySignal'));
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toMatch(/ended by SIGKILL.*flood flood.*the end of the flood$/su);
    expect(failure.detail!.length).toBeLessThan(2_200);
    expect(await echo()).toBe('still here');
  });

  test('writes garbage to stdout is still understood', async () => {
    expect(await callTool(listed, 'garbage')).toBe('after the garbage');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('answers with something nested 50,000 deep is handed on as it is', async () => {
    const [deep, other] = [callTool(listed, 'deep'), echo()];
    expect(Object.keys((await deep) as object)).toEqual(['type', 'value']);
    expect(await other).toBe('still here');
  });

  test('dies is quoted: exit code and last words, without colours', async () => {
    const hanging = failureOf(callTool(listed, 'hang'));
    const { failure } = await failureOf(callTool(listed, 'dieLoud'));
    expect(failure).toEqual({
      code: 'server_failed',
      detail: 'Server "peer" ended with exit code 3. Its last words on stderr: the reason is here',
    });
    expect((await hanging).failure).toEqual(failure);
    expect(await echo()).toBe('still here');
  });

  test('asks for a model is told that there is none', async () => {
    expect(await callTool(listed, 'askForModel')).toContain('-32601');
  });

  test('hangs can be given up, again and again', async () => {
    for (let time = 0; time < 3; time++) {
      const stop = new AbortController();
      const call = failureOf(callTool(listed, 'hang', {}, stop.signal));
      expect(await echo()).toBe('still here');
      stop.abort();
      expect((await call).code).toBe('cancelled');
    }
  });

  test('has children, and does not end by itself, is gone with them all after close', async () => {
    const other = await mcpSource(stdioServer('hostile-stdio.ts')).list({ signal: live() });
    const family = JSON.parse(await callText(other, 'family')) as number[];
    expect(family.map(isAlive)).toEqual([true, true, true]);
    expect(membersOf(family[0]!)).toBeGreaterThan(3);
    await other.close?.();
    expect(await eventually(() => !family.some(isAlive) && membersOf(family[0]!) === 0)).toBe(true);
  });

  test('dies leaves no children either, while the session goes on', async () => {
    const family = JSON.parse(await callText(listed, 'family')) as number[];
    await failureOf(callTool(listed, 'dieBySignal'));
    expect(await eventually(() => !family.some(isAlive) && membersOf(family[0]!) === 0)).toBe(true);
  });
});

describe.concurrent('connecting to a server process that', () => {
  const list = async (mode: string, connectTimeoutMs = 30_000): Promise<ListedTools> =>
    mcpSource(stdioServer('hostile-stdio.ts', [mode], { connectTimeoutMs })).list({ signal: live() });

  test.each(['end-at-the-unknown', 'silent-at-the-unknown'])('knows only the older protocol: %s', async (mode) => {
    const listed = await list(mode, 6_000);
    expect(await callTool(listed, 'echo', { text: 'hello' })).toBe('hello');
    await listed.close?.();
  });

  test('hangs fails after the time given', async () => {
    const { failure } = await failureOf(list('hang', 300));
    expect(failure).toEqual({ code: 'server_failed', detail: 'Server "peer" did not answer within 300 ms.' });
  });

  test('crashes at its start says why', async () => {
    const { failure } = await failureOf(list('crash'));
    expect(failure.code).toBe('server_failed');
    expect(failure.detail).toBe('Server "peer" ended with exit code 3. Its last words on stderr: API_KEY is not set');
  });
});

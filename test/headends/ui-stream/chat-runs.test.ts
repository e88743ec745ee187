// Which run is the newest of which chat.
// invariants: chats-of-caller
import { describe, expect, test } from 'vitest';
import type { RunId } from '#base';
import { ChatRuns } from '../../../src/headends/ui-stream/chat-runs.ts';
import { serveChats } from './driver.ts';

const [ann, ben] = [{ name: 'ann' }, { name: 'ben' }];
const run = 'ffffffffffff' as RunId;

describe('the chats of a caller', () => {
  test('are not forgotten because another caller has many', () => {
    const chats = new ChatRuns();
    chats.note(ann, 'lead', 'one', run);
    for (let nth = 0; nth < 20_000; nth++) chats.note(ben, 'lead', `chat ${nth}`, run);
    expect(chats.find(ann, 'lead', 'one')).toBe(run);
    expect(chats.find(ben, 'lead', 'chat 0')).toBe(undefined);
    expect(chats.find(ben, 'lead', 'chat 19999')).toBe(run);
  });

  test('are those of one agent, whatever their ids look like', () => {
    const chats = new ChatRuns();
    for (const id of ['__proto__', 'constructor', '","x', '']) {
      expect(chats.find(ann, 'lead', id)).toBe(undefined);
      chats.note(ann, 'lead', id, run);
      expect([chats.find(ann, 'other', id), chats.find(ben, 'lead', id)]).toEqual([undefined, undefined]);
      expect(chats.find(ann, 'lead', id)).toBe(run);
    }
  });

  test('have ids of at most 256 characters', async () => {
    const { url } = await serveChats();
    const send = async (id: string) => {
      const response = await fetch(`${url}/ui/lead`, {
        method: 'POST',
        headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
        body: JSON.stringify({ id, messages: [{ role: 'user', parts: [{ type: 'text', text: 'plain' }] }] }),
      });
      return [response.status, await response.text()] as const;
    };
    expect((await send('c'.repeat(256)))[0]).toBe(200);
    expect(await send('c'.repeat(257))).toEqual([400, expect.stringContaining('id: expected at most 256 characters')]);
  });
});

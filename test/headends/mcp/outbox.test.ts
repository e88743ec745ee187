import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Outbox } from '../../../src/headends/mcp/outbox.ts';

const kib = 1024;
const size = fc.constantFrom(1, 500, 60 * kib, 200 * kib, 256 * kib, 256 * kib + 1, 900 * kib);
const step = fc.oneof(
  fc.record({ do: fc.constantFrom('put' as const, 'offer' as const), size }),
  fc.record({ do: fc.constantFrom('take' as const), size: fc.constant(0) }),
);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A unique text of about so many bytes. */
const textOf = (no: number, bytes: number): string => `${no}:${'€'.repeat(Math.ceil(bytes / 3))}`;

// invariant: outbox-bounded
test('more than 256 KiB wait for a client only as a single message, and no required message is lost', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const outbox = new Outbox();
      const [must, may, received]: [string[], string[], string[]] = [[], [], []];
      /** The size of each text. */
      const sizes = new Set<number>();
      let [turnOf, reading] = [Promise.resolve(), false];
      const take = async (): Promise<void> => {
        if (reading) return;
        reading = true;
        const text = await outbox.take();
        reading = false;
        if (text !== null) received.push(text);
      };
      // One after the other, like answers.
      const put = (text: string): void => {
        must.push(text);
        turnOf = turnOf.then(() => outbox.put(text));
      };
      for (const [no, { do: what, size: bytes }] of steps.entries()) {
        const text = textOf(no, bytes);
        sizes.add(Buffer.byteLength(text));
        if (what === 'put') put(text);
        else if (what === 'take') void take();
        else if (outbox.offer(text)) may.push(text);
        await turn();
        if (outbox.bytes > 256 * kib) expect(sizes).toContain(outbox.bytes);
      }
      for (let time = 0; time < steps.length + 1; time++) {
        void take();
        await turn();
      }
      // Compared by their numbers, because the texts are long.
      const numbers = (texts: readonly string[]): readonly number[] => texts.map((text) => Number.parseInt(text, 10));
      const [asked, offered] = [numbers(must), numbers(may)];
      expect(numbers(received).filter((no) => asked.includes(no))).toEqual(asked);
      expect(numbers(received).filter((no) => offered.includes(no))).toEqual(offered);
      expect(received.length).toBe(asked.length + offered.length);
      outbox.end();
      await turnOf;
      expect(await outbox.take()).toBeNull();
    }),
    { numRuns: 200 },
  ));

// invariant: outbox-counts-until-next
test('a taken message counts until the next one is taken', async () => {
  const outbox = new Outbox();
  const answers: string[] = [];
  const put = (text: string): Promise<number> => outbox.put(text).then(() => answers.push(text.slice(0, 1)));
  const both = Promise.all([put('a'.repeat(900 * kib)), put('b'.repeat(900 * kib))]);
  await outbox.take();
  await turn();
  // The text is still being sent, so there is room for neither a small nor a large one.
  expect([answers, outbox.offer('note'), outbox.bytes]).toEqual([['a'], false, 900 * kib]);
  const next = outbox.take();
  await both;
  expect((await next)?.[0]).toBe('b');
  void outbox.take();
  expect([outbox.offer('note'), outbox.bytes]).toEqual([true, 4]);
});

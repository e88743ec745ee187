// The mail benchmark reaches far into core. In small it runs here, so that it still runs when it is needed.
import { expect, test } from 'vitest';
import { idleHeap, sendThroughLedger, sendThroughQueue } from '../../bench/mail.ts';

test('the mail benchmark delivers every message, and its agents wait', async () => {
  await sendThroughLedger('x', 40);
  await sendThroughQueue('x', 40);
  expect(await idleHeap(3)).toEqual(expect.any(Number));
});

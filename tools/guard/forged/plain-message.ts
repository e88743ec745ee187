import type { Mailbox } from '#testing/core/bus';

export const forged = (mailbox: Mailbox, content: string): void =>
  // @ts-expect-error: the compiler refuses it.
  mailbox.put({ kind: 'message', seq: 1, content });

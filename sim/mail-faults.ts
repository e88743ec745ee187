// Repeats deliveries: what a record puts into mailboxes is put there again, immediately or later.
//
//   The log delivers each message once. This tries what a careless caller of `next` could do; a mailbox must ignore it.
import { MailDirectoryFold } from '#core/events';
import type { World } from './world.ts';

/** Lets deliveries of this world happen twice, until the returned function is called. */
export const repeatDeliveries = (world: World): (() => void) => {
  const { faults, scheduler, random } = world;
  if (faults.plan.post === 0) return () => undefined;
  const plain = Object.getOwnPropertyDescriptor(MailDirectoryFold.prototype, 'next')!;
  const next = plain.value as MailDirectoryFold['next'];
  const nextTwice: MailDirectoryFold['next'] = function nextTwice(this: MailDirectoryFold, frame, run) {
    next.call(this, frame, run);
    if (frame.contents === undefined || (frame.record.type !== 'post' && frame.record.type !== 'mail')) return;
    const again = faults.draw(faults.plan.post, 'mail', { 'delivered again': 1, 'delivered again later': 2 });
    if (again === 'delivered again') next.call(this, frame, run);
    if (again === 'delivered again later')
      scheduler.after(random.log(1, 2_000), 'deliver again', () => next.call(this, frame, run));
  };
  Object.defineProperty(MailDirectoryFold.prototype, 'next', { ...plain, value: nextTwice });
  return () => void Object.defineProperty(MailDirectoryFold.prototype, 'next', plain);
};

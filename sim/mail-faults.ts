// Repeats deliveries: what a record puts into mailboxes is put there again, immediately or later.
//
//   The log delivers each message once. This tries what a careless caller of `next` could do; a mailbox must ignore it.
import type { Crossed, Frame } from '#contracts';
import type { RunDefinitions } from '#core/events';
import { MailDelivery } from '../src/core/cells/mail-delivery.ts';
import type { World } from './world.ts';

/** Lets deliveries of this world happen twice, until the returned function is called. */
export const repeatDeliveries = (world: World): (() => void) => {
  const { faults, scheduler, random } = world;
  if (faults.plan.post === 0) return () => undefined;
  const plain = Object.getOwnPropertyDescriptor(MailDelivery.prototype, 'next')!;
  const next = plain.value as (this: MailDelivery, frame: Frame<Crossed>, run: RunDefinitions) => void;
  const nextTwice = function nextTwice(this: MailDelivery, frame: Frame<Crossed>, run: RunDefinitions): void {
    next.call(this, frame, run);
    if (frame.contents === undefined || (frame.record.type !== 'post' && frame.record.type !== 'mail')) return;
    const again = faults.draw(faults.plan.post, 'mail', { 'delivered again': 1, 'delivered again later': 2 });
    if (again === 'delivered again') next.call(this, frame, run);
    if (again === 'delivered again later')
      scheduler.after(random.log(1, 2_000), 'deliver again', () => next.call(this, frame, run));
  };
  Object.defineProperty(MailDelivery.prototype, 'next', { ...plain, value: nextTwice });
  return () => void Object.defineProperty(MailDelivery.prototype, 'next', plain);
};

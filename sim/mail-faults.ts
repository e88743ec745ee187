// Repeats deliveries: what a record puts into mailboxes is put there again, immediately or later.
//
//   The log delivers each message once. This tries what a careless caller of `deliver` could do; a mailbox must ignore it.
import type { Frame } from '#contracts';
import { MailDelivery } from '../src/core/cells/mail-delivery.ts';
import type { World } from './world.ts';

/** Lets deliveries of this world happen twice, until the returned function is called. */
export const repeatDeliveries = (world: World): (() => void) => {
  const { faults, scheduler, random } = world;
  if (faults.plan.post === 0) return () => undefined;
  const plain = Object.getOwnPropertyDescriptor(MailDelivery.prototype, 'deliver')!;
  const deliver = plain.value as (this: MailDelivery, frame: Frame) => void;
  const deliverTwice = function deliverTwice(this: MailDelivery, frame: Frame): void {
    deliver.call(this, frame);
    if (frame.contents === undefined) return;
    const again = faults.draw(faults.plan.post, 'mail', { 'delivered again': 1, 'delivered again later': 2 });
    if (again === 'delivered again') deliver.call(this, frame);
    if (again === 'delivered again later')
      scheduler.after(random.log(1, 2_000), 'deliver again', () => deliver.call(this, frame));
  };
  Object.defineProperty(MailDelivery.prototype, 'deliver', { ...plain, value: deliverTwice });
  return () => void Object.defineProperty(MailDelivery.prototype, 'deliver', plain);
};

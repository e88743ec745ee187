// Messages from outside that may come twice: each has an id that its sender chose.
//
//   same-id-sent-once. A message whose id is in the log of the run is not sent again.
import { CloisterError } from '#base';
import { decodeMail } from '#contracts';
import type { Frame, Ids } from '#contracts';

/** The part before the last dash says which message it is, the part after it follows from what is sent. */
export const keyedMessagePattern = '^m-[0-9a-f]{16}-[0-9a-f]{8}$';

const keyedMessage = new RegExp(keyedMessagePattern, 'u');

/** An id for a message that is not sent at once. */
export const newKeyedMessageId = (ids: Ids): string => {
  const digits = ids.random() + ids.random();
  return `m-${digits.slice(0, 16)}-${digits.slice(16, 24)}`;
};

/** Whether the two are the same message. Throws `key_reused` if one id was used for two messages. */
export const isSameMessage = (sent: string, id: string): boolean => {
  if (keyPart(sent) !== keyPart(id)) return false;
  if (sent !== id) throw new CloisterError('key_reused', `It belongs to message ${sent}.`);
  return true;
};

const keyPart = (id: string): string => id.slice(0, id.lastIndexOf('-'));

/** Those that a run has received. */
export class KeyedMessages {
  /** By the part that says which message it is. */
  readonly #ids = new Map<string, string>();

  /** Throws `key_reused`. */
  has(id = ''): boolean {
    const sent = this.#ids.get(keyPart(id));
    return sent !== undefined && isSameMessage(sent, id);
  }

  add(id: string): void {
    this.#ids.set(keyPart(id), id);
  }
}

/** Undefined as long as there are none: most runs have none. */
export const followKeyedMessages = (known: KeyedMessages | undefined, frame: Frame): KeyedMessages | undefined => {
  const { record, contents = [] } = frame;
  if (record.type !== 'mail') return known;
  const ids = contents.flatMap(({ from, content }) => (from === 'outside' ? [decodeMail(content).id] : []));
  const keyed = [...ids, record.dead?.id ?? ''].filter((id) => keyedMessage.test(id));
  if (keyed.length === 0) return known;
  const all = known ?? new KeyedMessages();
  for (const id of keyed) all.add(id);
  return all;
};

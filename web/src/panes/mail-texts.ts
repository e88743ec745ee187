// Texts of messages, read when they come into sight: each from its crossing.
import { useEffect, useState } from 'preact/hooks';
import type { RunStore } from '../run-store.ts';
import { me } from '../state.ts';
import { readCrossing } from '../xray/inspected.ts';
import { textOfCrossing } from './mail-messages.ts';
import type { MailMessage } from './mail-messages.ts';

const texts = new Map<string, string>();
const textsMax = 5_000;
/** Rows that are only scrolled past are not read. */
const readAfterMs = 120;

/** Null: not read yet, or not for this reader. */
export const useMailText = (store: RunStore, message: MailMessage): string | null => {
  const { id, kind, text, crossing } = message;
  const key = `${store.run} ${id}`;
  const [, setRead] = useState('');
  const known = text ?? texts.get(key) ?? null;
  useEffect(() => {
    if (known !== null || crossing === null || me.value?.sees !== 'contents') return undefined;
    const read = async (): Promise<void> => {
      const content = await readCrossing(store, crossing).catch(() => null);
      if (content === null) return;
      if (texts.size > textsMax) texts.clear();
      texts.set(key, textOfCrossing(kind, content));
      setRead(key);
    };
    const timer = setTimeout(() => void read(), readAfterMs);
    return () => clearTimeout(timer);
  }, [key, known]);
  return known;
};

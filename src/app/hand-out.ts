// Hands messages out to a reader.
import type { RunSession } from '#contracts';
import type { FrameReader } from './frame-reader.ts';
import { caughtUp } from './run-feed.ts';

/** Only what is in the log, to a reader that is still there. Asking for the next item, or leaving, confirms the one before. */
export async function* handOut<T extends { readonly id: string }>(
  session: Pick<RunSession, 'confirm' | 'durable'>,
  reader: FrameReader<T>,
  items: AsyncGenerator<T | typeof caughtUp>,
  isDue: (id: string) => boolean | Promise<boolean> = () => true,
): AsyncGenerator<T> {
  for await (const item of items) {
    if (item === caughtUp) continue;
    if (!(await isDue(item.id)) || reader.closed) continue;
    try {
      // probe: message-hand-out
      yield item;
    } finally {
      session.confirm(item.id);
    }
  }
  // Whatever could not be recorded was not handed out, and the reader must know that something is missing.
  if (!reader.closed) await session.durable();
}

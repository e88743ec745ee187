// Reads the transcript of a run from its log, and the long outputs that events and transcripts quote from the store.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { DurableEvent, FrameSource, Store, Transcript, TranscriptOptions } from '#contracts';
import { projectEvents, transcriptFrom } from '#core/events';
import { cutBytes } from '#core/rules';

export const transcriptFields = { cell: 'name', full: 'flag' } as const;

/** How much of a long output is quoted, unless all of it is asked for. */
const quotedBytesMax = 4_000;

type TranscriptSource = {
  readonly store: Pick<Store, 'getBlob'>;
  /** Awaited before each frame; undefined: no need. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
};

export const readTranscript = async (
  run: RunId,
  frames: FrameSource,
  { store, pause }: TranscriptSource,
  options: TranscriptOptions = {},
): Promise<Transcript> => {
  const { cell, full = false } = options;
  const fold = projectEvents('contents', true);
  const events: DurableEvent[] = [];
  for await (const frame of frames) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    for (const event of fold.next(frame))
      if (cell === undefined || event.cell === cell)
        events.push(await quoteLongOutput(event, store, full ? Infinity : quotedBytesMax));
  }
  const transcript = transcriptFrom(run, events, options);
  if (cell !== undefined && transcript.cells.length === 0) throw new CloisterError('cell_unknown', `"${cell}".`);
  return transcript;
};

/** Events with details, each with the beginning of its long output, if it has one. */
export const quoteLongOutputs = <E extends { readonly type: string }>(
  events: AsyncIterator<E | DurableEvent>,
  store: Pick<Store, 'getBlob'>,
): AsyncIterator<E | DurableEvent> => ({
  next: async () => {
    const next = await events.next();
    return next.done === true ? next : { done: false, value: await quoteLongOutput(next.value, store) };
  },
  return: () => events.return?.() ?? Promise.resolve({ done: true, value: undefined }),
});

/** The same for the events of a report. */
export const quoteAll = async (
  events: readonly DurableEvent[],
  store: Pick<Store, 'getBlob'>,
): Promise<readonly DurableEvent[]> => {
  const quoted: DurableEvent[] = [];
  for (const event of events) quoted.push(await quoteLongOutput(event, store));
  return quoted;
};

export const quoteLongOutput = async <E extends { readonly type: string }>(
  event: E | DurableEvent,
  store: Pick<Store, 'getBlob'>,
  bytesMax = quotedBytesMax,
): Promise<E | DurableEvent> => {
  if (event.type !== 'tool-end' || !('details' in event) || event.details?.output === undefined) return event;
  const { output, ...rest } = event.details;
  const stored = await readText(output.ref, store);
  const text = stored === null ? null : cutBytes(stored, bytesMax);
  return { ...event, details: { ...rest, output: { ...output, text, whole: text !== null && text === stored } } };
};

/** Null if the store has lost it; the audit reports that. */
const readText = async (ref: string, store: Pick<Store, 'getBlob'>): Promise<string | null> => {
  try {
    return Buffer.from(await store.getBlob(ref)).toString();
  } catch (error) {
    if (error instanceof CloisterError) return null;
    throw error;
  }
};

// What lists say about runs from their logs, which are read once if they no longer change.
//
//   facts-read-bounded. The log of a run that has ended is read once while it is remembered; that of a run that goes on, after a pause
//       that is many times as long as reading it took.
import { CloisterError } from '#base';
import type { ErrorCode } from '#base';
import type { Clock, RunArchive, RunLogFacts, RunReport, RunSummary } from '#contracts';

/** `output`: null if it is too long to be remembered. */
type KnownFacts = RunLogFacts & { readonly output: string | null; readonly status: RunReport['status'] | 'damaged' };

type Remembered = { readonly facts: Promise<KnownFacts>; readonly isFinal: boolean; nextAt: number };

/** A list shows such a run anyway. */
const unreadable: readonly ErrorCode[] = ['store_damaged', 'run_format', 'run_unknown'];

const [rememberedMax, outputCharsMax, pauseMs, pauseTimes] = [5_000, 16_384, 1_000, 20];

export class RunFactsReader {
  readonly #archive: Pick<RunArchive, 'show'>;
  readonly #clock: Pick<Clock, 'now'>;
  /** In the order of their last use. */
  readonly #known = new Map<string, Remembered>();

  constructor(archive: Pick<RunArchive, 'show'>, clock: Pick<Clock, 'now'>) {
    this.#archive = archive;
    this.#clock = clock;
  }

  /** Only for a run that the reader may see. */
  async read({ run, endedAt, state }: Pick<RunSummary, 'run' | 'endedAt' | 'state'>): Promise<RunLogFacts> {
    const { crossings, refused, fork } = await this.#remembered(run, endedAt !== null || state === 'damaged');
    return { crossings, refused, fork };
  }

  /** How a run ended, and with which answer. */
  async outcome({ run, endedAt, state }: Pick<RunSummary, 'run' | 'endedAt' | 'state'>): Promise<{
    readonly status: KnownFacts['status'];
    readonly output: string;
  }> {
    const { status, output } = await this.#remembered(run, endedAt !== null || state === 'damaged');
    return { status, output: output ?? (await this.#archive.show(run, { sees: 'answers' })).output };
  }

  async #remembered(run: string, isFinal: boolean): Promise<KnownFacts> {
    // probe: facts-of-run
    const known = this.#known.get(run);
    if (known !== undefined && (known.isFinal || (!isFinal && this.#clock.now() < known.nextAt))) {
      this.#known.delete(run);
      this.#known.set(run, known);
      return known.facts;
    }
    const startedAt = this.#clock.now();
    const remembered: Remembered = { facts: this.#read(run), isFinal, nextAt: Infinity };
    this.#known.delete(run);
    this.#known.set(run, remembered);
    if (this.#known.size > rememberedMax) this.#known.delete(this.#known.keys().next().value!);
    try {
      return await remembered.facts;
    } catch (error) {
      if (this.#known.get(run) === remembered) this.#known.delete(run);
      throw error;
    } finally {
      const endedAt = this.#clock.now();
      remembered.nextAt = endedAt + Math.max(pauseMs, pauseTimes * (endedAt - startedAt));
    }
  }

  async #read(run: string): Promise<KnownFacts> {
    try {
      const { events, fork, output, status } = await this.#archive.show(run, { sees: 'answers' });
      const count = (type: string): number => events.filter((event) => event.type === type).length;
      return {
        crossings: count('crossing'),
        refused: count('crossing-refused'),
        fork,
        status,
        output: output.length <= outputCharsMax ? output : null,
      };
    } catch (error) {
      if (!(error instanceof CloisterError) || !unreadable.includes(error.code)) throw error;
      return { crossings: 0, refused: 0, fork: null, status: 'damaged', output: '' };
    }
  }
}

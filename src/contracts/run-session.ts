import type { RunId } from '#base';
import type { RunEvent } from './event.ts';
import type { RunOutcome } from './session.ts';

/** A run under way. Iterate it for events: the durable ones from the start, live ones from now. */
export interface RunSession extends AsyncIterable<RunEvent> {
  readonly run: RunId;
  /** Never rejects for an expected ending; rejects when the run could not be recorded. */
  readonly outcome: Promise<RunOutcome>;
  cancel(): void;
  /** Gives it something to know, as CONTEXT, which it sees with its next request. Throws `cell_ended`. */
  give(text: string): void;
  /** Copies again, to a living child that has a share, what has changed in its caller's since. Gives how many messages. */
  refreshShare(child: string): number;
}

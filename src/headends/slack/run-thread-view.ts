// What a thread shows of one run, folded from its events.
//
//   thread-text-of-root. The text is what the agent that was asked wrote and has not withdrawn; texts of agents below it are not shown.
//   thread-card-per-cell. Every cell has one card, from recorded events only.
import type { RunEvent, RunOutcome } from '#contracts';
import {
  activityText,
  applyEvent,
  cellName,
  compactNumber,
  formatDuration,
  money,
  newRunView,
  workedMs,
} from '#headends/run-view';
import type { CellView, RunView, WindowCutView } from '#headends/run-view';
import { RunActivityFold } from '#headends/shared';
import type { RunActivity } from '#headends/shared';
import type { TaskCard, ThreadView } from './thread-view.ts';

export class RunThreadView {
  readonly #fold: RunActivityFold;
  readonly run: RunView = newRunView();
  /** By id, in the order in which they were started. */
  readonly #texts = new Map<string, string>();

  /** `isLate`: what was written live before may be missing here. */
  constructor(isLate: boolean) {
    this.#fold = new RunActivityFold(isLate);
  }

  next(event: RunEvent): void {
    applyEvent(this.run, event);
    this.#apply(this.#fold.next(event));
  }

  /** The run has ended. */
  finish({ output }: Pick<RunOutcome, 'output'>): void {
    this.#apply(this.#fold.finish(output));
  }

  /** Whether people are asked, and nothing works meanwhile. */
  get waitsForPeople(): boolean {
    const cells = [...this.run.cells.values()].filter(({ status }) => status === null);
    const asks = cells.some(({ wait }) => wait.ownQuestion);
    return asks && !cells.some(({ wait }) => wait.ownWork);
  }

  get text(): string {
    return [...this.#texts.values()].join('\n\n');
  }

  /** `cards`: at most this many; the newest, after the first. */
  view(cardsMax: number): ThreadView {
    const all = [...this.run.cells.values()];
    const shown = all.length <= cardsMax ? all : [...all.slice(0, 1), ...all.slice(all.length - cardsMax + 1)];
    return { text: this.text, cards: shown.map((cell) => cardOf(this.run, cell)), isWaiting: this.waitsForPeople };
  }

  #apply(activities: readonly RunActivity[]): void {
    for (const activity of activities) {
      if (activity.type === 'text' && activity.kind === 'text' && activity.by === null)
        this.#texts.set(activity.id, (this.#texts.get(activity.id) ?? '') + activity.text);
      if (activity.type === 'withdrawn') for (const id of activity.ids) this.#texts.delete(id);
    }
  }
}

const cardOf = (view: RunView, cell: CellView): TaskCard => ({
  id: cell.cell,
  title: cellName(view, cell.agent, cell.agent, cell.cell),
  status: cardStatus(cell),
  details: [...(cell.status === null ? [activityText(cell)] : []), ...cutLines(cell.cuts)].join('\n'),
  output: cell.status === null ? '' : endLine(cell),
});

const cardStatus = ({ status, idle }: CellView): TaskCard['status'] => {
  if (status === null) return idle ? 'pending' : 'in_progress';
  return status === 'completed' || status === 'partial' ? 'complete' : 'error';
};

const endLine = (cell: CellView): string => {
  const { status, startedAt, endedAt, usd, failure } = cell;
  return `${status}, ${formatDuration(workedMs(cell, endedAt ?? startedAt))}, ${money(usd)}${failure === null ? '' : `: ${failure}`}`;
};

const cutsMax = 5;

const cutLines = (cuts: readonly WindowCutView[]): readonly string[] => {
  const lines = cuts.slice(-cutsMax).map(cutLine);
  return cuts.length > cutsMax ? [`${cuts.length - cutsMax} earlier changes of the window`, ...lines] : lines;
};

const cutLine = (cut: WindowCutView): string => {
  if (cut.how === 'clamped')
    return `window of ${compactNumber(cut.tokens)} tokens${cut.was === null ? '' : ` instead of ${compactNumber(cut.was)}`}`;
  return `${cut.messages} ${cut.messages === 1 ? 'message' : 'messages'} ${cut.how} to make room`;
};

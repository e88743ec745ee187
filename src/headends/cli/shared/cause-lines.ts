// Why things in a run failed, at every depth.
import { describeCause } from '#contracts';
import type { Cause } from '#contracts';
import { count } from '#headends/run-view';
import { cloisterCommand } from './next-commands.ts';
import type { Screen } from './output.ts';
import { sanitizeLine, truncateColumns, width, wrapText } from './sanitize-text.ts';

type CauseView = {
  readonly run: string;
  /** The value of --workspace. */
  readonly workspace: string;
  /** All of them, however long. */
  readonly verbose: boolean;
};

/** A text of this many columns takes about eight lines of a usual terminal. */
const [causesMax, causeColumns] = [20, 600];

/** A heading, then each cause on as many lines as it needs; if something was cut, also the command that shows it all. */
export const causeLines = (
  all: readonly Cause[],
  { run, workspace, verbose }: CauseView,
  { columns, paint }: Screen,
): readonly string[] => {
  const causes = all.filter((cause) => !isRootEnd(cause));
  if (causes.length === 0) return [];
  const texts = causes.map((cause) => sanitizeLine(describeCause(cause)));
  const isCut = !verbose && (texts.length > causesMax || texts.some((text) => width(text) > causeColumns));
  const shown = verbose ? texts : texts.slice(0, causesMax).map((text) => truncateColumns(text, causeColumns));
  return [
    paint('bold', 'Failures:'),
    ...shown.flatMap((text) => wrapText('  ', text, columns)),
    ...(texts.length > shown.length ? [`  … ${count(texts.length - shown.length)} more`] : []),
    ...(isCut ? [`In full: ${cloisterCommand(`show ${run} --verbose`, workspace)}`] : []),
  ];
};

/** How the run itself ended is its error, which is printed anyway. */
const isRootEnd = ({ path, ended, times }: Cause): boolean => path.length === 1 && ended && times === 1;

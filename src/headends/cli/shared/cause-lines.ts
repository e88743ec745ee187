// Why things in a run failed: one line for each cause, at every depth.
import { describeCause } from '#contracts';
import type { Cause } from '#contracts';
import { count } from './format.ts';
import { cloisterCommand } from './next-commands.ts';
import type { Screen } from './output.ts';
import { sanitizeLine, truncateColumns, wrapText } from './sanitize-text.ts';

type CauseView = {
  readonly run: string;
  /** The value of --workspace. */
  readonly workspace: string;
  /** Everything, on several lines. */
  readonly verbose: boolean;
};

const causesMax = 20;

/** A heading, then one line per cause, cut to the screen; if something was cut, also the command that shows it all. */
export const causeLines = (
  all: readonly Cause[],
  { run, workspace, verbose }: CauseView,
  { columns, paint }: Screen,
): readonly string[] => {
  const causes = all.filter((cause) => !isRootEnd(cause));
  if (causes.length === 0) return [];
  const texts = causes.map((cause) => sanitizeLine(describeCause(cause)));
  if (verbose) return [paint('bold', 'Failures:'), ...texts.flatMap((text) => wrapText('  ', text, columns))];
  const shown = texts.slice(0, causesMax).map((text) => truncateColumns(`  ${text}`, columns));
  const isCut = texts.length > causesMax || shown.some((line, index) => line !== `  ${texts[index]}`);
  return [
    paint('bold', 'Failures:'),
    ...shown,
    ...(texts.length > causesMax ? [`  … ${count(texts.length - causesMax)} more`] : []),
    ...(isCut ? [`In full: ${cloisterCommand(`show ${run} --verbose`, workspace)}`] : []),
  ];
};

/** How the run itself ended is its error, which is printed anyway. */
const isRootEnd = ({ path, ended, times }: Cause): boolean => path.length === 1 && ended && times === 1;

// `verify`: tests the isolation of an agent and its sub-agents with pairs of runs.
import type { VerifyDifference } from '#contracts';
import { count, plural } from '#headends/run-view';
import type { VerifyResult } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext, OutputFlags } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { openLiveScreen } from './shared/live-screen.ts';
import { markDifference } from './shared/mark-difference.ts';
import { agentsOptions, positiveInteger, requiredArgument, valueOption, wholeNumber } from './shared/options.ts';
import type { Output, Screen } from './shared/output.ts';
import { sanitizeLine, truncateColumns, wrapText } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'test isolation: vary one cell’s private content and check that no other cell notices',
  examples: ['cloister verify lead.ai', 'cloister verify research --pairs 5000 --seed 42 --json'],
  arguments: { agent: requiredArgument('an .ai file, a team file, an agent name or the name of an example') },
  options: {
    pairs: {
      about: 'number of pairs of runs to compare',
      takes: '<n>',
      absent: 1000,
      initial: 1000,
      parse: positiveInteger,
    },
    seed: valueOption('<n>', 'first seed; a reported difference prints its seed', wholeNumber),
    ...agentsOptions,
  },
  run: async (given, context) => {
    const { runtime, output, interrupts } = context;
    const { agent, agents, pairs, seed, config } = given;
    const stop = new AbortController();
    const counter = openCounter(given, context);
    interrupts.onFirst(() => {
      counter.notice('stopping after this pair… (Ctrl-C again to stop immediately)');
      stop.abort();
    });
    try {
      const { signal } = stop;
      const progress = (done: number): void => counter.count(done);
      const report = await runtime.verify({ agent, agents, pairs, seed, config, signal, progress });
      counter.close();
      const stopped = interrupts.seen && report.pairs < pairs;
      output.result(given.json, stopped ? { ...report, stopped } : report, (printer) =>
        verifyLines(report, given, printer),
      );
      if (interrupts.seen) return exitCode.cancelled;
      return report.ok ? exitCode.completed : exitCode.config;
    } finally {
      counter.close();
    }
  },
});

type VerifyRequest = OutputFlags & { readonly pairs: number };

type Counter = { count(pairs: number): void; notice(words: string): void; close(): void };

/** On a terminal, shows the number of pairs so far and erases it at the end. Elsewhere nothing, or lines with --verbose. */
const openCounter = (request: VerifyRequest, context: CommandContext): Counter => {
  const { terminal, output } = context;
  if (request.verbose) return lineCounter(request, output);
  if (!request.json && terminal.stderr.isTTY === true) return screenCounter(request, context);
  return { count: () => {}, notice: (words) => output.err.print(words), close: () => {} };
};

/** Agents that exchange messages are compared in more pairs than requested. */
const describePairs = (done: number, { pairs }: VerifyRequest): string =>
  done > pairs ? plural(done, 'pair') : `${count(done)} of ${plural(pairs, 'pair')}`;

/** Prints a line each time the number doubles: few lines, however long it takes. */
const lineCounter = (request: VerifyRequest, { err }: Output): Counter => {
  let next = 1;
  return {
    count: (done) => {
      if (done < next) return;
      next = done * 2;
      err.print(describePairs(done, request));
    },
    notice: (words) => err.print(words),
    close: () => {},
  };
};

const screenCounter = (request: VerifyRequest, { terminal, system, output, interrupts }: CommandContext): Counter => {
  let done = 0;
  let notice = '';
  let isOver = false;
  const screen = openLiveScreen(terminal.stderr, system, ({ columns }) => {
    const lines = isOver ? [] : [describePairs(done, request), ...(notice === '' ? [] : [notice])];
    return lines.map((line) => output.err.paint('dim', truncateColumns(line, columns)));
  });
  const close = (): void => {
    isOver = true;
    screen.close();
  };
  interrupts.onLeave(close);
  return {
    count: (value) => {
      done = value;
    },
    notice: (words) => {
      notice = words;
    },
    close,
  };
};

const differencesMax = 10;

/** `asked`: the number of pairs requested. */
const verifyLines = (
  report: VerifyResult,
  { pairs: asked, verbose }: VerifyRequest,
  screen: Screen,
): readonly string[] => {
  const { ok, agent, pairs, sights, bytes, seed, differences, notes = [] } = report;
  const { paint, columns } = screen;
  const shown = verbose ? differences : differences.slice(0, differencesMax);
  const more = differences.length - shown.length;
  const verdict = ok ? paint('green', 'ok') : paint('red', plural(Math.max(1, differences.length), 'difference'));
  const tried = pairs < asked ? `${count(pairs)} of ${plural(asked, 'pair')}, then stopped` : plural(pairs, 'pair');
  return [
    `${paint('bold', `Verify ${sanitizeLine(agent)}:`)} ${pairs === 0 ? 'no pairs were run' : verdict}`,
    ...wrapText(
      '',
      `${tried} · ${plural(sights, 'observation')} compared, ${plural(bytes, 'byte')} · seed ${seed}`,
      columns,
      0,
    ),
    ...notes.flatMap((note) => wrapText('note: ', note, columns)),
    ...shown.flatMap((difference, index) => ['', ...differenceLines(difference, index + 1, screen)]),
    ...(more === 0 ? [] : ['', `… and ${plural(more, 'more difference')}: use --verbose for all`]),
  ];
};

/** What one cell saw, and what was changed in another. The command is uncut on its own line, so that it can be pasted. */
const differenceLines = (difference: VerifyDifference, nth: number, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const { sink, offset, one, other, varied, shortest, again } = difference;
  const [left, right] = markDifference(one, other, { columns: columns - 5, paint });
  return [
    ...wrapText(`${nth}. `, `${sink}, at offset ${count(offset)}`, columns, 3).map((line) => paint('bold', line)),
    `   ${paint('red', '−')} ${left}`,
    `   ${paint('green', '+')} ${right}`,
    ...wrapText('   changed:  ', varied, columns, 13),
    ...wrapText('   shortest: ', shortest, columns, 13),
    '   reproduce with:',
    `     ${sanitizeLine(again)}`,
  ];
};

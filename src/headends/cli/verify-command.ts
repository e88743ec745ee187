// `verify`: tests the isolation of an agent and its sub-agents with pairs of runs.
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { count, plural } from './shared/format-numbers.ts';
import { openLiveScreen } from './shared/live-screen.ts';
import type { Output } from './shared/output.ts';
import type { VerifyRequest } from './shared/request.ts';
import { truncateColumns } from './shared/sanitize-text.ts';
import { verifyLines } from './verify-lines.ts';

export const verifyCommand = async (request: VerifyRequest, context: CommandContext): Promise<ExitCode> => {
  const { world, output, interrupts } = context;
  const { agent, agents, pairs, seed, config } = request;
  const stop = new AbortController();
  const counter = openCounter(request, context);
  interrupts.onFirst(() => {
    counter.notice('stopping after this pair… (Ctrl-C again to stop immediately)');
    stop.abort();
  });
  try {
    const report = await world.verify({
      agent,
      agents,
      pairs,
      ...(seed === null ? {} : { seed }),
      ...(config === null ? {} : { config }),
      signal: stop.signal,
      progress: (done) => counter.count(done),
    });
    counter.close();
    const stopped = interrupts.seen && report.pairs < pairs;
    if (request.json) output.json(stopped ? { ...report, stopped } : report);
    else output.out.print(...verifyLines(report, request, output.out));
    if (interrupts.seen) return exitCode.cancelled;
    return report.ok ? exitCode.completed : exitCode.config;
  } finally {
    counter.close();
  }
};

type Counter = { count(pairs: number): void; notice(words: string): void; close(): void };

/** On a terminal, shows the number of pairs so far and erases it at the end. Elsewhere nothing, or lines with --verbose. */
const openCounter = (request: VerifyRequest, context: CommandContext): Counter => {
  const { world, output } = context;
  if (request.verbose) return lineCounter(request, output);
  if (!request.json && world.stderr.isTTY === true) return screenCounter(request, context);
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

const screenCounter = (request: VerifyRequest, { world, output, interrupts }: CommandContext): Counter => {
  let done = 0;
  let notice = '';
  let isOver = false;
  const screen = openLiveScreen(world.stderr, world, ({ columns }) => {
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

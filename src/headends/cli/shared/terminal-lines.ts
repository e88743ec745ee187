// Reads lines from a terminal, with editing and history, or from a pipe.
//
//   typed-ahead-unseen. Between two lines the terminal echoes nothing, because that would tear what is drawn there. What is typed
//       then is shown and read at the next prompt; Ctrl-C works at once.
import { clearScreenDown, createInterface, cursorTo, moveCursor } from 'node:readline';
import type { Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Lines } from './cli-world.ts';

type TerminalLines = {
  readonly input: Readable & { readonly isTTY?: boolean; setRawMode?(mode: boolean): unknown };
  /** Where the prompt is written. */
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** Called for Ctrl-C while a line is typed: a terminal in raw mode sends no signal for it. */
  readonly interrupt: () => void;
};

export const terminalLines = (given: TerminalLines): Lines => {
  const isTerminal = given.input.isTTY === true;
  return { isTerminal, ...(isTerminal && given.output.isTTY === true ? typedLines(given) : pipedLines(given)) };
};

type Reading = Pick<Lines, 'next' | 'printAbove' | 'discard' | 'release' | 'close'>;

const historyMax = 200;

/** Lines that were pasted together are returned one by one; an unfinished last line can be edited at the next prompt. */
const typedLines = ({ input, output, interrupt }: TerminalLines): Reading => {
  const pasted: string[] = [];
  let [history, rest]: [string[], string] = [[], ''];
  let open: Interface | undefined;
  let closed = false;
  const ahead = typedAhead(input, interrupt);
  const typed = (prompt: string, initial: string): Promise<string | null> =>
    new Promise((resolve) => {
      ahead.release();
      const reader = createInterface({ input, output, prompt, history, historySize: historyMax });
      open = reader;
      reader.on('history', (lines: string[]) => {
        history = [...lines];
      });
      reader.on('SIGINT', interrupt);
      reader.on('line', (line) => {
        // All lines of a paste arrive in the same tick.
        if (pasted.push(line) === 1) queueMicrotask(() => reader.close());
      });
      reader.on('close', () => {
        open = undefined;
        const line = pasted.shift();
        rest = line === undefined ? '' : reader.line;
        // After Ctrl-D or Ctrl-C the cursor is still behind the prompt.
        if (line === undefined) output.write('\n');
        else if (!closed) ahead.hold();
        resolve(line ?? null);
      });
      reader.prompt();
      if (rest !== '' || initial !== '') reader.write(rest === '' ? initial : rest);
    });
  return {
    next: async (prompt, initial = '') => {
      if (closed) return null;
      return pasted.shift() ?? typed(prompt, initial);
    },
    printAbove: (print) => (open === undefined ? print() : printAboveLine(open, output, print)),
    discard: () => {
      pasted.length = 0;
      rest = '';
      open?.close();
      if (!closed) ahead.hold();
    },
    release: () => ahead.release(),
    close: () => {
      closed = true;
      open?.close();
      ahead.release();
    },
  };
};

const interruptKey = 0x03;

/** Keeps what is typed while no line is awaited, and gives it back to the input. */
const typedAhead = (
  input: TerminalLines['input'],
  interrupt: () => void,
): { readonly hold: () => void; readonly release: () => void } => {
  let held: Buffer[] | null = null;
  const keep = (bytes: Buffer): void => {
    // Raw mode sends the key instead of a signal. It cancels what was typed before it, as on any terminal.
    const at = bytes.lastIndexOf(interruptKey);
    if (at === -1) return void held?.push(bytes);
    held = [bytes.subarray(at + 1)];
    interrupt();
  };
  return {
    hold: () => {
      if (held !== null) return void (held = []);
      held = [];
      input.setRawMode?.(true);
      input.on('data', keep).resume();
    },
    release: () => {
      if (held === null) return;
      const bytes = Buffer.concat(held);
      held = null;
      input.off('data', keep).pause();
      input.setRawMode?.(false);
      if (bytes.byteLength > 0) input.unshift(bytes);
    },
  };
};

/** Erases prompt and line, and draws them again below what was printed. */
const printAboveLine = (reader: Interface, output: NodeJS.WritableStream, print: () => void): void => {
  const { rows } = reader.getCursorPos();
  moveCursor(output, 0, -rows);
  cursorTo(output, 0);
  clearScreenDown(output);
  print();
  // To draw the line, the reader first moves up to where the line began, as far as it is long.
  output.write('\n'.repeat(rows));
  reader.prompt(true);
};

const pipedLines = ({ input }: TerminalLines): Reading => {
  let reader: Interface | undefined;
  let lines: AsyncIterator<string> | undefined;
  const closed = Promise.withResolvers<null>();
  let isClosed = false;
  const nextLine = async (): Promise<string | null> => {
    reader ??= createInterface({ input, crlfDelay: Infinity });
    lines ??= reader[Symbol.asyncIterator]();
    const { done, value } = await lines.next();
    return done === true ? null : value;
  };
  return {
    next: () => (isClosed ? closed.promise : Promise.race([nextLine(), closed.promise])),
    printAbove: (print) => print(),
    // Whoever fills a pipe is not somebody who reads what is asked.
    discard: () => {},
    release: () => {},
    close: () => {
      isClosed = true;
      closed.resolve(null);
      reader?.close();
    },
  };
};

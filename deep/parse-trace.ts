// Parses the output of `strace -f -y -xx` into events in the order in which strace saw them. A thread is stopped while strace
// writes about it, so a cause always comes before its effect, even across threads.

export type Call = {
  readonly thread: string;
  readonly name: string;
  /** As printed by strace. */
  readonly args: string;
  /** Undefined until the call has returned. */
  result: string | undefined;
};

export type TraceEvent = { readonly at: 'enter' | 'exit'; readonly call: Call };

export function* parseTrace(trace: string): Generator<TraceEvent, void, undefined> {
  const open = new Map<string, Call>();
  for (const line of trace.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/u.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>.*\) += (.*)$/u.exec(rest);
    if (resumed !== null) {
      const call = open.get(thread);
      open.delete(thread);
      if (call !== undefined) yield* finishCall(call, resumed[1]);
      continue;
    }
    const begun = /^(\w+)\((.*) <unfinished \.\.\.>$/u.exec(rest);
    const whole = /^(\w+)\((.*)\) += (.*)$/u.exec(rest);
    const [, name, args, result] = begun ?? whole ?? [];
    if (name === undefined || args === undefined) continue;
    const call: Call = { thread, name, args, result: undefined };
    yield { at: 'enter', call };
    if (begun === null) yield* finishCall(call, result);
    else open.set(thread, call);
  }
}

function* finishCall(call: Call, result: string | undefined): Generator<TraceEvent, void, undefined> {
  call.result = result;
  yield { at: 'exit', call };
}

/** The path behind a descriptor: `27<…>`. */
export const parseDescriptor = (text: string): { readonly fd: string; readonly path: string } | undefined => {
  const [, fd, path] = /^(\d+)<([^>]*)>/u.exec(text) ?? [];
  return fd === undefined || path === undefined ? undefined : { fd, path: decodeHex(path) };
};

/** The quoted strings, in order. Throws if strace truncated one, because the trace is then incomplete. */
export const parseStrings = (args: string): readonly Buffer[] =>
  [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/gu)].map(([, hex = '', cut]) => {
    if (cut !== undefined) throw new Error('strace truncated a string.');
    return bytesOf(hex);
  });

/** The arguments after the last string: sizes, offsets, flags. */
export const argsAfterStrings = (args: string): readonly string[] =>
  args
    .slice(args.lastIndexOf('"') + 1)
    .split(', ')
    .filter((part) => part !== '');

export const decodeHex = (hex: string): string => bytesOf(hex).toString('utf8');

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll('\\x', ''), 'hex');

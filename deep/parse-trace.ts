// The output of `strace -f -y -xx`, as moments in the order in which strace saw them. A thread stands still while strace
// writes about it, so a cause is always before its effect, whichever threads they are in.

export type Call = {
  readonly thread: string;
  readonly name: string;
  /** As strace writes them. */
  readonly args: string;
  /** Undefined until the call has come back. */
  result: string | undefined;
};

export type Moment = { readonly at: 'enter' | 'exit'; readonly call: Call };

export function* parseTrace(trace: string): Generator<Moment, void, undefined> {
  const open = new Map<string, Call>();
  for (const line of trace.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/u.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>.*\) += (.*)$/u.exec(rest);
    if (resumed !== null) {
      const call = open.get(thread);
      open.delete(thread);
      if (call !== undefined) yield* come(call, resumed[1]);
      continue;
    }
    const begun = /^(\w+)\((.*) <unfinished \.\.\.>$/u.exec(rest);
    const whole = /^(\w+)\((.*)\) += (.*)$/u.exec(rest);
    const [, name, args, result] = begun ?? whole ?? [];
    if (name === undefined || args === undefined) continue;
    const call: Call = { thread, name, args, result: undefined };
    yield { at: 'enter', call };
    if (begun === null) yield* come(call, result);
    else open.set(thread, call);
  }
}

function* come(call: Call, result: string | undefined): Generator<Moment, void, undefined> {
  call.result = result;
  yield { at: 'exit', call };
}

/** The path behind a descriptor: `27<…>`. */
export const descriptorIn = (text: string): { readonly fd: string; readonly path: string } | undefined => {
  const [, fd, path] = /^(\d+)<([^>]*)>/u.exec(text) ?? [];
  return fd === undefined || path === undefined ? undefined : { fd, path: textOf(path) };
};

/** The strings in quotes, in order. A string that strace cut is an error: the trace is not whole. */
export const stringsIn = (args: string): readonly Buffer[] =>
  [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/gu)].map(([, hex = '', cut]) => {
    if (cut !== undefined) throw new Error('strace has cut a string.');
    return bytesOf(hex);
  });

/** What comes after the last string: sizes, offsets, flags. */
export const restOf = (args: string): readonly string[] =>
  args
    .slice(args.lastIndexOf('"') + 1)
    .split(', ')
    .filter((part) => part !== '');

export const textOf = (hex: string): string => bytesOf(hex).toString('utf8');

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll('\\x', ''), 'hex');

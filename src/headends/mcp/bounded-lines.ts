// Splits bytes into lines of bounded length. A problem with one line does not affect the others.

export type LineOrProblem = { readonly text: string } | { readonly problem: string };

export async function* readBoundedLines(
  chunks: AsyncIterable<Uint8Array | string>,
  bytesMax: number,
): AsyncGenerator<LineOrProblem> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  const take = (): LineOrProblem => {
    const line =
      bytes > bytesMax ? { problem: `The line is longer than ${bytesMax} bytes.` } : decodeLine(Buffer.concat(held));
    [held, bytes] = [[], 0];
    return line;
  };
  const hold = (part: Uint8Array): void => {
    bytes += part.length;
    if (bytes > bytesMax) held = [];
    else if (part.length > 0) held.push(part);
  };
  for await (const chunk of chunks) {
    let rest: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(lineEnd); end !== -1; end = rest.indexOf(lineEnd)) {
      hold(rest.subarray(0, end));
      yield take();
      rest = rest.subarray(end + 1);
    }
    hold(rest);
  }
  if (bytes > 0) yield take();
}

const lineEnd = 0x0a;

const decodeLine = (bytes: Uint8Array): LineOrProblem => {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'The line is not valid UTF-8.' };
  }
};

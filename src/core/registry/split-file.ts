// Where the frontmatter of an `.ai` file ends and its prompt begins. Looks at each character a fixed number of times.

/** An agent file is text that a person wrote; more than this is something else. */
export const agentFileCharsMax = 1_000_000;

export type SplitFile = {
  readonly frontmatter: string;
  /** The line of the file on which the frontmatter's first line stands, from 1. */
  readonly frontmatterLine: number;
  /** The rest, its lines ended by line feeds alone: the same agent on every system. */
  readonly prompt: string;
};

export type SplitProblem = { readonly problem: { readonly line: number | null; readonly message: string } };

export const splitFile = (text: string): SplitFile | SplitProblem => {
  if (text.length > agentFileCharsMax)
    return problem(null, 'The file is too large: an agent file has at most 1 MB (1,000,000 characters).');
  if (!isText(text))
    return problem(null, 'The file is not text: expected UTF-8 with a YAML block between `---` lines.');

  let at = text.startsWith('\uFEFF') ? 1 : 0;
  let line = 1;
  if (text.startsWith('#!', at) && lineEnd(text, at) < text.length) [at, line] = [lineEnd(text, at), 2];
  for (let end = lineEnd(text, at); end < text.length && lineText(text, at) === ''; end = lineEnd(text, at)) {
    at = end;
    line++;
  }

  const opening = lineText(text, at);
  if (opening !== '---') return problem(line, openingProblem(opening));
  const start = lineEnd(text, at);
  const close = closingLine(text, start);
  if (close === null)
    return problem(line, 'The frontmatter that begins here has no end: expected a line `---` before the prompt.');
  return {
    frontmatter: text.slice(start, close),
    frontmatterLine: line + 1,
    prompt: text.slice(lineEnd(text, close)).replaceAll('\r\n', '\n'),
  };
};

const problem = (line: number | null, message: string): SplitProblem => ({ problem: { line, message } });

const openingProblem = (opening: string): string =>
  opening.startsWith('---')
    ? 'The opening line has more than `---`: expected these three dashes alone.'
    : 'The frontmatter is missing: expected a line `---`, the keys, and another line `---` before the prompt.';

/** Where the next line starts, or the end of the text. */
const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
};

/** The line that starts here, without what cannot be seen at its end. Of a long one the beginning: only short ones matter. */
const lineText = (text: string, at: number): string => {
  const end = lineEnd(text, at);
  return end - at > lineCharsMax ? text.slice(at, at + lineCharsMax) : text.slice(at, end).trimEnd();
};

const lineCharsMax = 1_000;

/** Where the next line of three dashes starts. */
const closingLine = (text: string, start: number): number | null => {
  for (let at = start; at < text.length; at = lineEnd(text, at))
    if (text.startsWith('---', at) && lineText(text, at) === '---') return at;
  return null;
};

/** A few characters that could not be decoded may be in a prompt on purpose; many mean another encoding. */
const isText = (text: string): boolean => {
  if (text.includes('\0')) return false;
  let left = 4 + text.length / 100;
  for (let at = text.indexOf('\uFFFD'); at !== -1; at = text.indexOf('\uFFFD', at + 1)) if (--left < 0) return false;
  return true;
};

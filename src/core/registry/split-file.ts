// Splits an `.ai` file into frontmatter and prompt, in linear time.

/** People write agent files by hand; anything larger is something else. */
const agentFileCharsMax = 1_000_000;

type SplitFile = {
  readonly frontmatter: string;
  /** The line number of the first frontmatter line in the file, from 1. */
  readonly frontmatterLine: number;
  /** The rest, with line feeds only, so that the agent is the same on every system. */
  readonly prompt: string;
};

type SplitProblem = { readonly problem: { readonly line: number | null; readonly message: string } };

export const splitFile = (text: string): SplitFile | SplitProblem => {
  if (text.length > agentFileCharsMax)
    return problem(null, 'The file is too large: an agent file may have at most 1 MB (1,000,000 characters).');
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
    return problem(line, 'The frontmatter that starts here is not closed: expected a `---` line before the prompt.');
  return {
    frontmatter: text.slice(start, close),
    frontmatterLine: line + 1,
    prompt: text.slice(lineEnd(text, close)).replaceAll('\r\n', '\n'),
  };
};

const problem = (line: number | null, message: string): SplitProblem => ({ problem: { line, message } });

const openingProblem = (opening: string): string =>
  opening.startsWith('---')
    ? 'The opening line must be `---` and nothing else.'
    : 'The frontmatter is missing: expected a `---` line, the keys, and another `---` line before the prompt.';

/** Where the next line starts, or the end of the text. */
const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
};

/** The line that starts here, without trailing whitespace. A long line is cut, because only short lines matter. */
const lineText = (text: string, at: number): string => {
  const end = lineEnd(text, at);
  return end - at > lineCharsMax ? text.slice(at, at + lineCharsMax) : text.slice(at, end).trimEnd();
};

const lineCharsMax = 1_000;

/** Where the next line with only three dashes starts. */
const closingLine = (text: string, start: number): number | null => {
  for (let at = start; at < text.length; at = lineEnd(text, at))
    if (text.startsWith('---', at) && lineText(text, at) === '---') return at;
  return null;
};

/** A few undecodable characters may be intended; many mean another encoding. */
const isText = (text: string): boolean => {
  if (text.includes('\0')) return false;
  let left = 4 + text.length / 100;
  for (let at = text.indexOf('\uFFFD'); at !== -1; at = text.indexOf('\uFFFD', at + 1)) if (--left < 0) return false;
  return true;
};

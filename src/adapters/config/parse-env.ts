// Parses an `.ai-agent.env`: blank lines, `#` comments, `KEY=VALUE`, `KEY="VALUE"`, `KEY='VALUE'`, each also after `export`.
//
//   env-problem-shows-no-line. Never throws, and a problem never shows the content of a line, because it may be a secret.
//   env-expands-nothing. `$` is an ordinary character.
//   env-linear. The cost is linear in the length of the text.

type EnvProblem = { readonly line: number; readonly message: string };

type ParsedEnv = {
  /** Without a prototype. The last value of a duplicate key counts. */
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly EnvProblem[];
  /** What is read, but probably not as it was meant. */
  readonly warnings: readonly EnvProblem[];
};

export const parseEnv = (source: string): ParsedEnv => {
  const text = source.replace(/^\uFEFF/u, '').replaceAll(/\r\n?/gu, '\n');
  const values = Object.create(null) as Record<string, string>;
  const problems: EnvProblem[] = [];
  const warnings: EnvProblem[] = [];
  let line = 1;
  for (let at = 0; at < text.length;) {
    const entry = readEntry(text, at);
    if ('problem' in entry) problems.push({ line, message: entry.problem });
    if ('key' in entry) {
      values[entry.key] = entry.value;
      if (otherQuotes.test(entry.value))
        warnings.push({ line, message: `${entry.key}: these quotes are part of the value; quotes are " and '.` });
    }
    line += countLines(text, at, entry.end);
    at = entry.end;
  }
  return { values: Object.freeze(values), problems, warnings };
};

type Entry = { readonly end: number } & (
  | { readonly key: string; readonly value: string }
  | { readonly problem: string }
  | object
);

/** Backticks and typographic quotes around a whole value. */
const otherQuotes = /^(?:`.*`|[\u2018\u2019].*[\u2018\u2019]|[\u201c\u201d\u201e].*[\u201c\u201d]|\u00ab.*\u00bb)$/su;

const blank = /[ \t]*(?:#[^\n]*)?(?:\n|$)/uy;
const assignment = /[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/uy;
/** Quoted values may span several lines. */
const doubleQuoted = /"([^"\\]*(?:\\[\s\S][^"\\]*)*)"/uy;
const singleQuoted = /'([^']*)'/uy;

const readEntry = (text: string, at: number): Entry => {
  const empty = matchAt(blank, text, at);
  if (empty !== null) return { end: empty.end };
  const begin = matchAt(assignment, text, at);
  if (begin === null)
    return skipLine(
      text,
      at,
      'Expected KEY=VALUE, a # comment or a blank line; KEY may contain only letters, digits and _.',
    );
  const value = readValue(text, begin.end);
  if (value === null) return { end: text.length, problem: 'This quote is never closed.' };
  const rest = matchAt(blank, text, value.end);
  if (rest === null) return skipLine(text, value.end, 'Only a # comment may follow the closing quote.');
  if (value.group.includes('\0')) return { end: rest.end, problem: 'The value contains a NUL character.' };
  return { end: rest.end, key: begin.group, value: value.group };
};

type Match = { readonly group: string; readonly end: number };

const readValue = (text: string, at: number): Match | null => {
  if (text[at] === "'") return matchAt(singleQuoted, text, at);
  if (text[at] !== '"') return readUnquoted(text, at);
  const quoted = matchAt(doubleQuoted, text, at);
  return quoted === null ? null : { ...quoted, group: unescape(quoted.group) };
};

/** Reads to the end of the line, or to a `#` after a space: a password may contain a `#`. */
const readUnquoted = (text: string, at: number): Match => {
  let end = at;
  for (let index = at; index < text.length && text[index] !== '\n'; index++) {
    if (isSpace(text[index])) continue;
    if (text[index] === '#' && isSpace(text[index - 1])) break;
    end = index + 1;
  }
  return { group: text.slice(at, end), end };
};

const isSpace = (character: string | undefined): boolean => character === ' ' || character === '\t';

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

/** Any other pair stays as it is. */
const unescape = (quoted: string): string =>
  quoted.replaceAll(/\\([\s\S])/gu, (pair, character: string) => escapes[character] ?? pair);

/** Reports a problem and skips the rest of the line. */
const skipLine = (text: string, at: number, problem: string): Entry => {
  const next = text.indexOf('\n', at);
  return { end: next === -1 ? text.length : next + 1, problem };
};

const matchAt = (pattern: RegExp, text: string, at: number): Match | null => {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  return match === null ? null : { group: match[1] ?? '', end: pattern.lastIndex };
};

const countLines = (text: string, from: number, to: number): number => {
  let lines = 0;
  for (let index = from; index < to; index++) if (text[index] === '\n') lines++;
  return lines;
};

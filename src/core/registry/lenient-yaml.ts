// A second reading of frontmatter that is not valid YAML, as other runtimes do it: line by line.
//
//   lenient-no-second-key. A key that is written twice is left out, so that text that looks like a key adds nothing.
import type { Json, JsonObject } from '#base';
import type { YamlDocument } from '#contracts';

/** Top-level keys with texts and lists of texts. Deeper blocks are texts. `repeatedKeys`: the keys that were left out. */
export const readLenientYaml = (text: string): YamlDocument & { readonly repeatedKeys: readonly string[] } => {
  const found = new Map<string, { line: number; rest: string[]; times: number }>();
  let current: { rest: string[] } | undefined;
  for (const [index, line] of text.split(/\r?\n/u).entries()) {
    const [, key, rest] = /^([A-Za-z][\w-]{0,60}):(?:[ \t]+(.*))?$/u.exec(line) ?? [];
    if (key === undefined) {
      if (!/^\s*(?:#|$)/u.test(line)) current?.rest.push(line.trim());
      continue;
    }
    const before = found.get(key);
    if (before !== undefined) before.times += 1;
    const entry = { line: index + 1, rest: rest === undefined || rest.trim() === '' ? [] : [rest.trim()], times: 1 };
    if (before === undefined) found.set(key, entry);
    current = entry;
  }
  const once = [...found].filter(([key, { times }]) => times === 1 && key !== '__proto__');
  const value: JsonObject = Object.fromEntries(once.map(([key, { rest }]) => [key, valueOf(rest)]));
  const repeatedKeys = [...found].filter(([, { times }]) => times > 1).map(([key]) => key);
  return { value, repeatedKeys, line: ([key]) => found.get(String(key))?.line ?? 1 };
};

const valueOf = (lines: readonly string[]): Json => {
  if (lines.length === 0) return null;
  if (lines.every((line) => line.startsWith('- '))) return lines.map((line) => unquoted(line.slice(2)));
  const [first = '', ...rest] = lines;
  if (/^[|>][+-]?$/u.test(first)) return rest.join(first.startsWith('|') ? '\n' : ' ');
  const whole = lines.join(' ');
  const [, items] = /^\[(.*)\]$/u.exec(whole) ?? [];
  if (items === undefined) return /^\d{1,9}$/u.test(whole) ? Number(whole) : unquoted(whole);
  return items
    .split(',')
    .map(unquoted)
    .filter((item) => item !== '');
};

const unquoted = (text: string): string => /^\s*(["'])(.*)\1\s*$/u.exec(text)?.[2] ?? text.trim();

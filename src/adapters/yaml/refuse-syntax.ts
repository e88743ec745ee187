// Refuses YAML features beyond plain data on the token level, before anything is built from them.
import type { CST } from 'yaml';
import { YamlRefusal } from './yaml-refusal.ts';

const depthMax = 64;

/** `before`: the earlier tokens of the same text. */
export const refuseSyntax = (token: CST.Token, before: readonly CST.Token[]): void => {
  if (token.type === 'directive') throw new YamlRefusal(token.offset, 'Lines that start with `%` are not allowed.');
  if (token.type === 'error') throw new YamlRefusal(token.offset, `Not valid YAML: ${token.message}.`);
  if (token.type !== 'document') return;
  if (before.some(({ type }) => type === 'document' || type === 'doc-end'))
    throw new YamlRefusal(token.offset, 'Expected a single document, but a second one follows `---` or `...`.');
  refuseProps(token.start);
  refuseNested(token);
};

/** Walks with an explicit stack, so that deep nesting cannot exhaust the call stack. */
const refuseNested = (document: CST.Document): void => {
  const waiting: { token: CST.Token; depth: number }[] = [];
  const add = (token: CST.Token | null | undefined, depth: number): void => {
    if (token !== null && token !== undefined) waiting.push({ token, depth });
  };
  add(document.value, 1);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { token, depth } = next;
    if (token.type === 'alias') refuseMark(token, '*');
    if (token.type === 'error') throw new YamlRefusal(token.offset, `Not valid YAML: ${token.message}.`);
    if (!('items' in token)) continue;
    if (depth > depthMax) throw new YamlRefusal(token.offset, `Expected at most ${depthMax} levels of nesting.`);
    for (const item of token.items) {
      refuseProps(item.start);
      if (item.sep !== undefined) refuseProps(item.sep);
      add(item.key, depth + 1);
      add(item.value, depth + 1);
    }
  }
};

const refuseProps = (props: readonly CST.SourceToken[]): void => {
  for (const prop of props) {
    if (prop.type === 'tag') refuseMark(prop, '!');
    if (prop.type === 'anchor') refuseMark(prop, '&');
  }
};

const refuseMark = (token: { readonly offset: number }, mark: '*' | '!' | '&'): never => {
  const what = { '*': 'Aliases', '!': 'Tags', '&': 'Anchors' }[mark];
  throw new YamlRefusal(token.offset, `${what} are not allowed; quote a value that starts with \`${mark}\`.`);
};

// Names in planted code that the source does not have: a symbol was renamed, and the plant was not.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyEdits } from './apply-edits.ts';
import type { Edit } from './apply-edits.ts';
import { root } from './folders.ts';
import { parseSource, probePoint, sourceFiles, walk } from './probes.ts';
import type { SyntaxNode } from './probes.ts';

/** A variable must be one of the file, of the plant itself or of the language; a member must be one of some file. */
export const unknownNames = (edits: readonly Edit[]): readonly string[] =>
  [...applyEdits(edits)].flatMap(([file, text]) => {
    const before = wordsOf(edits.map(({ probe }) => probePoint(probe)).find((point) => point.file === file)!.text);
    const nodes = [...walk(parseSource(file, text))];
    const members = new Set(nodes.flatMap(memberOf));
    const declared = new Set(nodes.flatMap(declaredBy));
    const names = nodes.filter(isIdentifier).filter(({ name }) => !before.has(name) && !declared.has(name));
    const unknown = names.filter((node) =>
      members.has(node) ? !allWords().has(node.name) && !(node.name in Array.prototype) : !(node.name in globalThis),
    );
    return [...new Set(unknown.map(({ name }) => name))];
  });

/** Where plants leave something for each other. */
const own = ['planted'];

type Identifier = SyntaxNode & { readonly name: string };
const isIdentifier = (node: SyntaxNode): node is Identifier => /^(?:Private)?Identifier$/u.test(node.type);

/** What stands behind a dot, or before a colon. */
const memberOf = (node: SyntaxNode): readonly SyntaxNode[] => {
  const { property, key, computed } = node as {
    property?: SyntaxNode;
    key?: SyntaxNode;
    computed?: boolean;
  } & SyntaxNode;
  return computed === true ? [] : [property, key].filter((one) => one !== undefined);
};

/** Variables, parameters and functions. */
const declaredBy = (node: SyntaxNode): readonly string[] => {
  const { id, params = [] } = node as { id?: SyntaxNode | null; params?: readonly SyntaxNode[] } & SyntaxNode;
  return [...(id ? [id] : []), ...params].flatMap((pattern) =>
    [...walk(pattern)].filter(isIdentifier).map(({ name }) => name),
  );
};

const wordsOf = (text: string): ReadonlySet<string> => new Set([...own, ...(text.match(/[A-Za-z_$][\w$]*/gu) ?? [])]);

let words: ReadonlySet<string> | undefined;
const allWords = (): ReadonlySet<string> =>
  (words ??= wordsOf(
    sourceFiles()
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .join('\n'),
  ));

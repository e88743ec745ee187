// Two texts, word by word: what only one of them has is marked.

export type DiffPiece = { readonly text: string; readonly changed: boolean };

/** Beyond this many words on either side, whole ends are compared and the rest counts as changed. */
const wordsMax = 1_500;

const splitWords = (text: string): readonly string[] => text.match(/\s+|[\p{L}\p{N}_]+|./gsu) ?? [];

export const diffWords = (one: string, other: string): readonly [readonly DiffPiece[], readonly DiffPiece[]] => {
  const [left, right] = [splitWords(one), splitWords(other)];
  const shorter = Math.min(left.length, right.length);
  let head = 0;
  while (head < shorter && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < shorter - head && left.at(-1 - tail) === right.at(-1 - tail)) tail++;
  const [a, b] = [left.slice(head, left.length - tail), right.slice(head, right.length - tail)];
  const [keptA, keptB] =
    a.length > wordsMax || b.length > wordsMax ? [new Set<number>(), new Set<number>()] : common(a, b);
  const mark = (words: readonly string[], kept: ReadonlySet<number>): readonly DiffPiece[] =>
    merge(
      words.map((text, at) => {
        const isEnd = at < head || at >= words.length - tail;
        return { text, changed: !isEnd && !kept.has(at - head) };
      }),
    );
  return [mark(left, keptA), mark(right, keptB)];
};

/** The places of the longest common sequence in both. */
const common = (a: readonly string[], b: readonly string[]): readonly [Set<number>, Set<number>] => {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
  const [inA, inB] = [new Set<number>(), new Set<number>()];
  for (let i = 0, j = 0; i < a.length && j < b.length;)
    if (a[i] === b[j]) {
      inA.add(i++);
      inB.add(j++);
    } else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++;
    else j++;
  return [inA, inB];
};

/** Neighbours alike are one; white space between two changed words is changed with them. */
const merge = (pieces: readonly DiffPiece[]): readonly DiffPiece[] => {
  const merged: DiffPiece[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    if (last?.changed === piece.changed) merged[merged.length - 1] = { ...last, text: last.text + piece.text };
    else merged.push(piece);
  }
  return merged;
};

// Records every crossing decision, in one hash chain per cell.
//
//   ledger-both-ends. A crossing is an `out` entry in the sender's chain and an `in` entry in the receiver's, in the same
//       frame.
//   ledger-one-link-per-frame. For each cell: hash = sha256(previous ‖ entries).
//   ledger-numbers-per-cell. A cell's chain reveals nothing about any other cell: sequence numbers count per cell.
//   ledger-makes-crossed. A `Crossed` is created here and nowhere else: with the entry that granted it, or from that entry on
//       resume.
import { CloisterError, sha256, utf8Bytes, zeroHash } from '#base';
import type { CellId, Hash } from '#base';
import type { Crossed, Crossing, CrossingContent, CrossingEnd, CrossingKind } from '#contracts';
import type { Frame, LedgerEntry, LedgerLink, RefusalReason } from '#contracts';
import { frozenLabels, isSealedBy, sealCrossing } from './crossed.ts';
import type { Grant } from './policy.ts';

type Chain = { readonly cell: CellId; seq: number; hash: Hash; entries: readonly LedgerEntry[] };

/** Decisions since the last frame. */
export type UnsealedEntries = {
  readonly entries: readonly { readonly cell: CellId; readonly entry: LedgerEntry }[];
  readonly contents: readonly Crossed[];
};

export type SealedEntries = { readonly links: readonly LedgerLink[]; readonly contents: readonly Crossed[] };

export class Ledger {
  /** The chains of the live cells: a list while there are few, a map once there are many. */
  #chains: readonly Chain[] | Map<CellId, Chain> = noChains;
  /** Chains with entries that are not in a frame yet. */
  #open: readonly Chain[] = noChains;
  #contents: readonly Crossed[] = noContents;

  /** Records one decision at both ends. Null if it is a refusal. */
  recordDecision<K extends CrossingKind>(
    crossing: Crossing<K>,
    decided: Grant | RefusalReason,
    at: number,
  ): Crossed<K> | null {
    const { kind, from, to, content } = crossing;
    const labels = frozenLabels(crossing.labels);
    const decision = { kind, labels, decided, at, hash: sha256(content), bytes: utf8Bytes(content) };
    const seqOut = this.#append('out', from, to, decision);
    const seqIn = this.#append('in', to, from, decision);
    if (typeof decided === 'string') return null;
    const cell = (seqIn === undefined ? from : to) as CellId;
    const crossed = sealCrossing<K>(this, { cell, seq: seqIn ?? seqOut ?? 0, kind, from, to, labels, content });
    this.#contents = append(this.#contents, crossed);
    return crossed;
  }

  /** Throws unless this content crossed in this run, into this cell. */
  check(crossed: Crossed, cell: CellId): void {
    // probe: ledger-check-crossed
    if (!isSealedBy(this, crossed) || crossed.cell !== cell || crossed.to !== cell)
      throw new CloisterError('defect', `Content was put into ${cell} that did not cross into it.`);
  }

  /**
   * On resume: continues with a recorded frame. Its links must follow from those before, and each content must be what its entry
   * says. Returns the frame with its contents as crossings.
   */
  restore(frame: Frame): Frame<Crossed> {
    const { links, contents, ...rest } = frame;
    for (const link of links ?? []) this.#continueChain(link, frame.no);
    if (contents === undefined) return frame as Frame<never>;
    const crossed = contents.map((content) => {
      const entries = links?.find(({ cell }) => cell === content.cell)?.entries;
      if (entries?.some((entry) => isContentOf(entry, content)) !== true)
        throw new CloisterError('store_damaged', `Frame ${frame.no} has content that its ledger does not have.`);
      return sealCrossing(this, content);
    });
    return { ...rest, ...(links && { links }), contents: crossed };
  }

  /** The links and contents for the frame that is being written. */
  seal(): SealedEntries | undefined {
    if (this.#open.length === 0) return undefined;
    const links = this.#open.map(closeLink);
    const contents = this.#contents;
    this.#open = noChains;
    this.#contents = noContents;
    return { links, contents };
  }

  /** The entries and contents that the next frame will carry. */
  get pending(): UnsealedEntries {
    return {
      entries: this.#open.flatMap(({ cell, entries }) => entries.map((entry) => ({ cell, entry }))),
      contents: this.#contents,
    };
  }

  /** On replay: drops repeated decisions, because the log already has them. */
  discard(): void {
    for (const chain of this.#open) {
      chain.seq -= chain.entries.length;
      chain.entries = noEntries;
    }
    this.#open = noChains;
    this.#contents = noContents;
  }

  /** For a cell that has ended and will not write again. */
  forget(cell: CellId): void {
    if (this.#chains instanceof Map) this.#chains.delete(cell);
    else this.#chains = this.#chains.filter((chain) => chain.cell !== cell);
  }

  #continueChain({ cell, previous, entries, hash }: LedgerLink, frame: number): void {
    const chain = this.#getChain(cell);
    const isNumbered = entries.every((entry, index) => entry.seq === chain.seq + index);
    if (!isNumbered || previous !== chain.hash || hash !== linkHash(previous, entries))
      throw new CloisterError(
        'store_damaged',
        `Frame ${frame}: the ledger of ${cell} does not continue its hash chain.`,
      );
    chain.hash = hash;
    chain.seq += entries.length;
  }

  #append(way: 'in' | 'out', end: CrossingEnd, other: CrossingEnd, decision: Decision): number | undefined {
    if (end === 'outside') return undefined;
    const chain = this.#getChain(end);
    const seq = chain.seq++;
    const entry = ledgerEntry(way, seq, other, decision);
    if (chain.entries.length === 0) this.#open = [...this.#open, chain];
    chain.entries = append(chain.entries, entry);
    return seq;
  }

  #getChain(cell: CellId): Chain {
    const chains = this.#chains;
    const known = chains instanceof Map ? chains.get(cell) : chains.find((one) => one.cell === cell);
    if (known !== undefined) return known;
    const chain: Chain = { cell, seq: 0, hash: zeroHash, entries: noEntries };
    if (chains instanceof Map) chains.set(cell, chain);
    else if (chains.length < smallListMax) this.#chains = [...chains, chain];
    else this.#chains = new Map([...chains, chain].map((one) => [one.cell, one]));
    return chain;
  }
}

/** Copies a short list, because `push` would reserve spare capacity; appends to a long one in place. */
const append = <T>(items: readonly T[], item: T): readonly T[] => {
  if (items.length < smallListMax) return [...items, item];
  (items as T[]).push(item);
  return items;
};

const smallListMax = 16;
const noChains: readonly Chain[] = [];
const noContents: readonly Crossed[] = [];
const noEntries: readonly LedgerEntry[] = [];

/** For a fork: the frame with other content in the crossings of this kind. The rest of its links stays. */
export const replaceContent = (frame: Frame, kind: CrossingKind, content: string): Frame => {
  const { links = [], contents = [] } = frame;
  const bytes = utf8Bytes(content);
  const replaced = { sha256: sha256(content), bytes, tokens: tokensIn(bytes) };
  return {
    ...frame,
    links: links.map(({ cell, previous, entries: recorded }) => {
      const entries = recorded.map((entry) => (entry.kind === kind ? { ...entry, ...replaced } : entry));
      return { cell, entries, previous, hash: linkHash(previous, entries) };
    }),
    contents: contents.map((one) => (one.kind === kind ? { ...one, content } : one)),
  };
};

const isContentOf = (entry: LedgerEntry, { cell, seq, kind, from, to, labels, content }: CrossingContent): boolean => {
  const [own, other] = entry.way === 'in' ? [to, from] : [from, to];
  return (
    entry.seq === seq &&
    entry.verdict === 'granted' &&
    entry.kind === kind &&
    own === cell &&
    entry.other === other &&
    entry.labels.join() === labels.join() &&
    entry.sha256 === sha256(content)
  );
};

/** Closes the chain's link for this frame. */
const closeLink = (chain: Chain): LedgerLink => {
  const { cell, hash: previous, entries } = chain;
  const hash = linkHash(previous, entries);
  chain.hash = hash;
  chain.entries = noEntries;
  return { cell, entries, previous, hash };
};

const linkHash = (previous: Hash, entries: readonly LedgerEntry[]): Hash =>
  sha256(`${previous}[${entries.map(canonicalEntry).join(',')}]`);

/** Same as JSON.stringify of the entry but much faster: only names and labels can need escaping. */
const canonicalEntry = ({
  at,
  bytes,
  grant,
  kind,
  labels,
  other,
  seq,
  sha256: hash,
  tokens,
  verdict,
  way,
}: LedgerEntry): string =>
  `{"at":${at},"bytes":${bytes},"grant":${JSON.stringify(grant)},"kind":"${kind}","labels":${labels.length === 0 ? '[]' : JSON.stringify(labels)},"other":${JSON.stringify(other)},"seq":${seq},"sha256":"${hash}","tokens":${tokens},"verdict":"${verdict}","way":"${way}"}`;

const tokensIn = (bytes: number): number => Math.ceil(bytes / 4);

type Decision = Pick<Crossing, 'kind' | 'labels'> & {
  readonly decided: Grant | RefusalReason;
  readonly at: number;
  readonly hash: Hash;
  readonly bytes: number;
};

/** Keys are in alphabetical order, so that JSON.stringify gives the canonical form that the audit recomputes. */
const ledgerEntry = (way: 'in' | 'out', seq: number, other: CrossingEnd, decision: Decision): LedgerEntry => ({
  at: decision.at,
  bytes: decision.bytes,
  grant: typeof decision.decided === 'string' ? null : decision.decided.name,
  kind: decision.kind,
  labels: decision.labels,
  other,
  seq,
  sha256: decision.hash,
  tokens: tokensIn(decision.bytes),
  verdict: typeof decision.decided === 'string' ? decision.decided : 'granted',
  way,
});

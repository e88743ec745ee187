// Records every crossing decision, in one hash chain per cell.
//
//   L1. A crossing is an `out` entry in the sender's chain and an `in` entry in the receiver's, in the same frame.
//   L2. One link per cell per frame: hash = sha256(previous ‖ entries).
//   L3. A cell's chain reveals nothing about any other cell: sequence numbers count per cell.
import { sha256, utf8Bytes, zeroHash } from '#base';
import type { CellId, Hash } from '#base';
import type { CrossingContent, Crossing, CrossingEnd, LedgerEntry, LedgerLink } from '#contracts';
import type { Verdict } from './decide.ts';

type Chain = { readonly cell: CellId; seq: number; hash: Hash; entries: readonly LedgerEntry[] };

/** Decisions since the last frame. */
export type UnsealedEntries = {
  readonly entries: readonly { readonly cell: CellId; readonly entry: LedgerEntry }[];
  readonly contents: readonly CrossingContent[];
};

export type SealedEntries = { readonly links: readonly LedgerLink[]; readonly contents: readonly CrossingContent[] };

export class Ledger {
  /** The chains of the live cells: a list while there are few, a map once there are many. */
  #chains: readonly Chain[] | Map<CellId, Chain> = noChains;
  /** Chains with entries that are not in a frame yet. */
  #open: readonly Chain[] = noChains;
  #contents: readonly CrossingContent[] = noContents;

  /** Records one decision at both ends. Returns the seq at the receiving end, or at the sending end if the receiver is outside. */
  recordDecision(crossing: Crossing, verdict: Verdict, at: number): number {
    const hash = sha256(crossing.content);
    const bytes = utf8Bytes(crossing.content);
    const seqOut = this.#append('out', crossing.from, crossing.to, { crossing, verdict, at, hash, bytes });
    const seqIn = this.#append('in', crossing.to, crossing.from, { crossing, verdict, at, hash, bytes });
    const seq = seqIn ?? seqOut ?? 0;
    if (verdict.allowed) {
      const { kind, from, to, labels, content } = crossing;
      const cell = (seqIn === undefined ? from : to) as CellId;
      this.#contents = append(this.#contents, { cell, seq, kind, from, to, labels, content });
    }
    return seq;
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

  /** On resume: continues from a recorded link. */
  load(link: LedgerLink): void {
    const chain = this.#getChain(link.cell);
    chain.hash = link.hash;
    chain.seq = (link.entries.at(-1)?.seq ?? -1) + 1;
  }

  /** For a cell that has ended and will not write again. */
  forget(cell: CellId): void {
    if (this.#chains instanceof Map) this.#chains.delete(cell);
    else this.#chains = this.#chains.filter((chain) => chain.cell !== cell);
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
const noContents: readonly CrossingContent[] = [];
const noEntries: readonly LedgerEntry[] = [];

/** Closes the chain's link for this frame. */
const closeLink = (chain: Chain): LedgerLink => {
  const { cell, hash: previous, entries } = chain;
  const hash = sha256(`${previous}[${entries.map(canonicalEntry).join(',')}]`);
  chain.hash = hash;
  chain.entries = noEntries;
  return { cell, entries, previous, hash };
};

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

type Decision = {
  readonly crossing: Crossing;
  readonly verdict: Verdict;
  readonly at: number;
  readonly hash: Hash;
  readonly bytes: number;
};

/** Keys are in alphabetical order, so that JSON.stringify gives the canonical form that the audit recomputes. */
const ledgerEntry = (way: 'in' | 'out', seq: number, other: CrossingEnd, decision: Decision): LedgerEntry => ({
  at: decision.at,
  bytes: decision.bytes,
  grant: decision.verdict.allowed ? decision.verdict.grant.name : null,
  kind: decision.crossing.kind,
  labels: decision.crossing.labels,
  other,
  seq,
  sha256: decision.hash,
  tokens: Math.ceil(decision.bytes / 4),
  verdict: decision.verdict.allowed ? 'granted' : decision.verdict.reason,
  way,
});

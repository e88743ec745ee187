// Hashes, computed again in the browser: of what crossed, and of each cell's ledger.
import type { CellLedger } from '#contracts';

/** Hexadecimal; null: this browser computes hashes only over https or on this machine. */
export const sha256Hex = async (text: string): Promise<string | null> => {
  if (globalThis.crypto?.subtle === undefined) return null;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
};

/** `broken`: the frame of the first link that does not continue the chain; null: all do. */
export type ChainCheck = { readonly links: number; readonly broken: number | null; readonly unchecked: boolean };

const firstPrevious = '0'.repeat(64);

/** Each link is the hash of the one before and its own entries, whose keys the server sends in alphabetical order. */
export const checkChain = async ({ links }: Pick<CellLedger, 'links'>): Promise<ChainCheck> => {
  let previous: string = firstPrevious;
  for (const link of links) {
    const hash = await sha256Hex(`${link.previous}${JSON.stringify(link.entries)}`);
    if (hash === null) return { links: links.length, broken: null, unchecked: true };
    if (link.previous !== previous || hash !== link.hash)
      return { links: links.length, broken: link.frame, unchecked: false };
    previous = link.hash;
  }
  return { links: links.length, broken: null, unchecked: false };
};

import { hash } from 'node:crypto';
import type { Hash } from './ids.ts';

export const sha256 = (text: string | Uint8Array): Hash => hash('sha256', text, 'hex') as Hash;

/** The first link of every hash chain. */
export const zeroHash = '0'.repeat(64) as Hash;

export const utf8Bytes = (text: string): number => /* probe: utf8-bytes */ Buffer.byteLength(text);

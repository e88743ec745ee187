// Tokens for a server's clients, for programs that make their own.
import { randomBytes } from 'node:crypto';
import { sha256 } from '#base';

/** The prefix of every token, so that leaked tokens can be recognised. */
const prefix = 'clo_';

/** A new random token for a client. Store its hash in the token file, and give the token itself to the client only. */
export const makeToken = (): string => prefix + randomBytes(32).toString('base64url');

/** As a token file lists it. */
export const hashToken = (token: string): string => sha256(token);

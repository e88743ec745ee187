// The address of a PostgreSQL database, as `--store` and `openCloister` take it.
import { readFileSync } from 'node:fs';
import { CloisterError } from '#base';
import { isPostgresUrl } from './postgres-url.ts';

export type PostgresAddress = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password: string | null;
  readonly tls: { readonly verify: boolean; readonly ca?: string } | null;
  readonly schema: string;
  /** How many connections may read at the same time. */
  readonly readers: number;
  /** For people: without the password. */
  readonly shown: string;
};

type AddressOptions = {
  /** Comes before the one in the address. */
  readonly password?: string | undefined;
};

/** Throws `options_invalid`, with a text that does not hold the password. */
export const parsePostgresUrl = (text: string, { password }: AddressOptions = {}): PostgresAddress => {
  const url = parseUrl(text);
  const query = readQuery(url);
  const host = decode(url.hostname === '' ? (query.host ?? 'localhost') : url.hostname.replace(/^\[|\]$/gu, ''));
  const database = decode(url.pathname.slice(1));
  const user = decode(url.username);
  if (database === '') throw invalid('it names no database; expected postgres://<user>@<host>/<database>');
  if (user === '') throw invalid('it names no user; expected postgres://<user>@<host>/<database>');
  const port = url.port === '' ? 5432 : Number(url.port);
  const schema = query.schema ?? 'cloister';
  if (!/^[a-z_][a-z0-9_]{0,39}$/u.test(schema))
    throw invalid('schema: expected up to 40 small letters, digits and underscores, with no digit first');
  const readers = Number(query.readers ?? 4);
  if (!Number.isInteger(readers) || readers < 1 || readers > 100) throw invalid('readers: expected 1 to 100');
  const shownSchema = query.schema === undefined ? '' : `?schema=${schema}`;
  return {
    host,
    port,
    user,
    database,
    password: password ?? (url.password === '' ? null : decode(url.password)),
    tls: tlsOf(query, host),
    schema,
    readers,
    shown: `postgres://${user}@${host.includes(':') ? `[${host}]` : host}:${port}/${database}${shownSchema}`,
  };
};

const parameters = ['schema', 'sslmode', 'sslrootcert', 'readers', 'host'] as const;

type Query = { readonly [K in (typeof parameters)[number]]?: string };

const parseUrl = (text: string): URL => {
  try {
    const url = new URL(text);
    if (isPostgresUrl(text)) return url;
  } catch {
    // Reported below, without the text: it may hold a password.
  }
  throw invalid('expected postgres://<user>@<host>/<database>');
};

const readQuery = (url: URL): Query => {
  for (const name of url.searchParams.keys())
    if (!(parameters as readonly string[]).includes(name))
      throw invalid(`unknown parameter ${JSON.stringify(name)}; known are ${parameters.join(', ')}`);
  return Object.fromEntries(url.searchParams);
};

const modes = ['disable', 'require', 'verify-full'];

/** Logs hold everything that agents are told, so to another machine they go encrypted, to a server that proves its name. */
const tlsOf = ({ sslmode, sslrootcert }: Query, host: string): PostgresAddress['tls'] => {
  const isHere = host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host);
  const mode = sslmode ?? (isHere && sslrootcert === undefined ? 'disable' : 'verify-full');
  if (!modes.includes(mode)) throw invalid(`sslmode: expected ${modes.join(', ')}`);
  if (mode === 'disable') return null;
  if (sslrootcert === undefined) return { verify: mode === 'verify-full' };
  try {
    return { verify: mode === 'verify-full', ca: readFileSync(sslrootcert, 'utf8') };
  } catch (error) {
    throw invalid(`sslrootcert: ${(error as Error).message}`);
  }
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const invalid = (problem: string): CloisterError =>
  new CloisterError('options_invalid', `The address of the store: ${problem}.`);

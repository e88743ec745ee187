// The names by which a server may be called.
import { networkInterfaces } from 'node:os';
import { CloisterError } from '#base';

const ofThisMachine = ['localhost', '127.0.0.1', '[::1]'];

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/u.test(host);

/** Throws `options_invalid` for an address that others can reach, unless that is wanted. */
export const checkHost = (host: string, expose: boolean): void => {
  if (isLoopback(host) || expose) return;
  throw new CloisterError(
    'options_invalid',
    `host: ${host} can be reached from other machines. Say so with --expose (in code, expose: true), and put TLS in front of it.`,
  );
};

/** An address cannot be made to mean another one, as a name can: so the machine's own are all fine. */
export const hostsFor = (host: string, more: readonly string[] = []): readonly string[] => {
  if (isLoopback(host)) return [...ofThisMachine, bracketed(host), ...more];
  const everywhere = host === '0.0.0.0' || host === '::';
  return [...ofThisMachine, ...(everywhere ? ownAddresses() : [bracketed(host)]), ...more];
};

export const listenUrl = (host: string, port: number): string => {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${bracketed(shown)}:${port}`;
};

const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => bracketed(address)));

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

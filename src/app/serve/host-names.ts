// Host names that a server accepts.
import { networkInterfaces } from 'node:os';
import { CloisterError } from '#base';

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/u.test(host);

/** Throws `options_invalid` for an address that other machines can reach, unless `expose` is set. */
export const checkHost = (host: string, expose: boolean): void => {
  if (isLoopback(host) || expose) return;
  throw new CloisterError(
    'options_invalid',
    `host: ${host} is reachable from other machines. Confirm with --expose (in code: expose: true) and put TLS in front of it.`,
  );
};

/** All of the machine's own addresses are accepted: unlike a name, an address cannot be rebound to another machine. */
export const hostsFor = (host: string, more: readonly string[] = []): readonly string[] => {
  if (isLoopback(host)) return [...loopbackHosts, bracketed(host), ...more];
  const everywhere = host === '0.0.0.0' || host === '::';
  return [...loopbackHosts, ...(everywhere ? ownAddresses() : [bracketed(host)]), ...more];
};

export const listenUrl = (host: string, port: number): string => {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${bracketed(shown)}:${port}`;
};

const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => bracketed(address)));

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);

// Host × origin × scheme: which pages are those of the server itself. What must be is written as a table, apart from the code.
// invariants: gate-own-origin, gate-origin-known, gate-host-known
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { Gate } from '#headends/http';

const gate = new Gate({
  hosts: ['localhost', '127.0.0.1', '[::1]', 'agents.example.com', 'one-port.example.com:8443'],
  tlsHosts: ['agents.example.com', 'one-port.example.com:8443'],
  origins: ['https://chat.example.com'],
  identify: () => undefined,
  admit: () => undefined,
  admitOpen: () => undefined,
});

const verdict = (host: string, origin: string | null): string => {
  try {
    gate.checkHost(host);
    gate.checkOrigin(origin, host);
    return 'ok';
  } catch (error) {
    return error instanceof CloisterError ? error.code : String(error);
  }
};

/** `http`, `https`: whether a page of this scheme at exactly this host is one of the server's own. */
const hosts = [
  { host: '127.0.0.1:8787', known: true, http: true, https: false },
  { host: 'localhost:8787', known: true, http: true, https: false },
  { host: 'localhost', known: true, http: true, https: false },
  { host: '[::1]:8787', known: true, http: true, https: false },
  { host: 'agents.example.com', known: true, http: true, https: true },
  { host: 'AGENTS.example.com', known: true, http: true, https: true },
  { host: 'agents.example.com:9443', known: true, http: true, https: true },
  { host: 'one-port.example.com:8443', known: true, http: true, https: true },
  { host: 'one-port.example.com:8444', known: false, http: false, https: false },
  { host: 'one-port.example.com', known: false, http: false, https: false },
  { host: 'chat.example.com', known: false, http: false, https: false },
  { host: 'agents.example.com.evil.example', known: false, http: false, https: false },
] as const;

const schemes = ['http', 'https', 'ws', 'wss', 'ftp', 'javascript', 'https://https'] as const;

test.for(hosts)('at $host, its own pages are: http $http, https $https', ({ host, known, ...own }) => {
  expect(verdict(host, null)).toBe(known ? 'ok' : 'host_refused');
  for (const scheme of schemes) {
    const isOwn = scheme === 'http' || scheme === 'https' ? own[scheme] : false;
    const expected = known ? (isOwn ? 'ok' : 'origin_refused') : 'host_refused';
    expect([scheme, verdict(host, `${scheme}://${host}`)]).toEqual([scheme, expected]);
  }
});

test('a page at one host is foreign at every other, whatever the scheme', () => {
  const pairs = hosts
    .filter(({ known }) => known)
    .flatMap(({ host }) =>
      hosts
        .filter((other) => other.host.toLowerCase() !== host.toLowerCase())
        .map((other) => [host, other.host] as const),
    )
    .flatMap(([host, other]) => ['http', 'https'].map((scheme) => ({ host, origin: `${scheme}://${other}` })));
  const accepted = pairs.filter(({ host, origin }) => verdict(host, origin) !== 'origin_refused');
  // The one that the operator allows.
  expect(new Set(accepted.map(({ origin }) => origin))).toEqual(new Set(['https://chat.example.com']));
});

test.for([
  ['agents.example.com:443', 'https://agents.example.com', 'ok'],
  ['agents.example.com:443', 'https://agents.example.com:443', 'ok'],
  ['agents.example.com:443', 'http://agents.example.com', 'origin_refused'],
  ['agents.example.com:80', 'http://agents.example.com', 'ok'],
  ['agents.example.com:80', 'https://agents.example.com', 'origin_refused'],
  ['agents.example.com:8443', 'https://agents.example.com', 'origin_refused'],
  ['agents.example.com', 'https://agents.example.com:8443', 'origin_refused'],
  ['agents.example.com', 'https://agents.example.com/', 'origin_refused'],
  ['agents.example.com', 'https://agents.example.com.evil.example', 'origin_refused'],
  ['agents.example.com', 'https://evil@agents.example.com', 'origin_refused'],
  ['agents.example.com', 'https://agents.example.com https://agents.example.com', 'origin_refused'],
  ['agents.example.com', 'null', 'origin_refused'],
  ['agents.example.com', '', 'origin_refused'],
  ['localhost:443', 'https://localhost', 'origin_refused'],
  ['127.0.0.1:8787', 'https://chat.example.com', 'ok'],
  ['127.0.0.1:8787', 'http://chat.example.com', 'origin_refused'],
] as const)('at %s, a page of %s is %s', ([host, origin, expected]) => {
  expect(verdict(host, origin)).toBe(expected);
});

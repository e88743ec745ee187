// Decides who may come in, before any byte of a body is read.
//
//   gate-host-known. An unknown host name is refused, so a page cannot reach the server by DNS rebinding.
//   gate-origin-known. A page of another origin is refused, and so is one with the origin `null`.
//   gate-own-origin. The server's own origin is `http://` and the host of the request; also `https://`, if the operator has named
//       that host, because a proxy with TLS is then in front of the server.
//   gate-tells-nothing. Without a token, a client learns only that it was refused.
import { CloisterError } from '#base';
import type { Caller } from '#contracts';

type GateOptions = {
  /** `name`, for any port, or `name:port`. */
  readonly hosts: readonly string[];
  /** Those of them that the operator has named; a proxy with TLS may be in front of them. */
  readonly tlsHosts?: readonly string[];
  /** `scheme://name[:port]`. */
  readonly origins: readonly string[];
  /** Undefined for a wrong token. */
  identify(token: string): Caller | undefined;
  /** Throws if this caller has sent too many requests. */
  admit(caller: Caller): void;
  /** Throws if too many requests without a token have come from this network. */
  admitOpen(network: string): void;
};

export class Gate {
  readonly #options: GateOptions;
  readonly #hosts: ReadonlySet<string>;
  readonly #tlsHosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#hosts = new Set(options.hosts.map((host) => host.toLowerCase()));
    this.#tlsHosts = new Set((options.tlsHosts ?? []).map((host) => host.toLowerCase()));
    this.#origins = new Set(options.origins.map((origin) => origin.toLowerCase()));
  }

  /** Throws `host_refused`. */
  checkHost(host: string | null | undefined): void {
    if (typeof host === 'string') {
      if (listsHost(this.#hosts, host.toLowerCase())) return;
    }
    throw new CloisterError('host_refused');
  }

  /** Throws `origin_refused`. Clients other than web pages send no origin. */
  checkOrigin(origin: string | null | undefined, host: string | null | undefined): void {
    if (origin === null || origin === undefined) return;
    const normalized = origin.toLowerCase();
    if (this.#isOwnOrigin(normalized, host?.toLowerCase()) || this.#origins.has(normalized)) return;
    throw new CloisterError('origin_refused');
  }

  /** Whether the page is one of this server. The host has been checked already. */
  #isOwnOrigin(origin: string, host: string | undefined): boolean {
    if (host === undefined) return false;
    // Browsers leave out the default port of the scheme; some proxies add it to the host.
    if (origin === `http://${host}` || `${origin}:80` === `http://${host}`) return true;
    return (origin === `https://${host}` || `${origin}:443` === `https://${host}`) && listsHost(this.#tlsHosts, host);
  }

  /** Whether a page of this origin may read responses. */
  allowsOrigin(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }

  /** Throws `token_refused`, or `rate_exceeded`. */
  enter(authorization: string | null | undefined, apiKey: string | null | undefined): Caller {
    const caller = this.identify(authorization, apiKey);
    this.admit(caller);
    return caller;
  }

  /** Throws `token_refused`. Does not check the rate; `admit` does. */
  identify(authorization: string | null | undefined, apiKey: string | null | undefined): Caller {
    const caller = this.find(authorization, apiKey);
    if (caller === undefined) throw new CloisterError('token_refused');
    return caller;
  }

  /** Undefined without a valid token. */
  find(authorization: string | null | undefined, apiKey: string | null | undefined): Caller | undefined {
    const sent = bearerToken(authorization) ?? apiKey ?? undefined;
    // An empty token is no token, even if its hash is listed.
    const token = sent === '' ? undefined : sent;
    // A missing token is looked up too, so that both cases take the same time.
    const caller = this.#options.identify(token ?? '');
    return token === undefined ? undefined : caller;
  }

  /** Throws `rate_exceeded`. */
  admit(caller: Caller): void {
    this.#options.admit(caller);
  }

  /** For a request without a token. Throws `server_busy`. */
  admitOpen(address: string | undefined): void {
    this.#options.admitOpen(networkOf(address ?? ''));
  }
}

/** An IPv4 address, or the 64 bits of an IPv6 address that its owner cannot choose. */
const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const [before = '', after] = address.split('%')[0]!.split('::');
  const [head, tail] = [before, after ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = after === undefined ? [] : Array<string>(Math.max(0, 8 - head!.length - tail!.length)).fill('0');
  return [...head!, ...zeros, ...tail!].slice(0, 4).join(':');
};

/** A name without a port stands for all ports. */
const listsHost = (hosts: ReadonlySet<string>, host: string): boolean =>
  hosts.has(host) || hosts.has(withoutPort(host));

const withoutPort = (host: string): string => host.replace(/:\d{1,5}$/u, '');

const bearerToken = (authorization: string | null | undefined): string | undefined =>
  /^bearer +([\w.~+/-]+=*) *$/iu.exec(authorization ?? '')?.[1];

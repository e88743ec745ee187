// Who may come in: looked at before a single byte of a body is read.
//
//   G1. A name that the server does not know is refused, so a page that was resolved to this address cannot speak to it.
//   G2. A page of another origin is refused, and so is one without an origin (`null`).
//   G3. Without a token nobody learns more than that.
import { CloisterError } from '#base';
import type { Caller } from '#contracts';

export type GateOptions = {
  /** `name`, for any port, or `name:port`. */
  readonly hosts: readonly string[];
  /** `scheme://name[:port]`. */
  readonly origins: readonly string[];
  /** Undefined for a wrong token. */
  identify(token: string): Caller | undefined;
  /** Throws when this caller has asked too often. */
  admit(caller: Caller): void;
};

export class Gate {
  readonly #options: GateOptions;
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#hosts = new Set(options.hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(options.origins.map((origin) => origin.toLowerCase()));
  }

  /** Throws `host_refused`. */
  checkHost(host: string | null | undefined): void {
    if (typeof host === 'string') {
      const given = host.toLowerCase();
      if (this.#hosts.has(given) || this.#hosts.has(withoutPort(given))) return;
    }
    throw new CloisterError('host_refused');
  }

  /** Throws `origin_refused`. A client that is no page sends none. */
  checkOrigin(origin: string | null | undefined, host: string | null | undefined): void {
    if (origin === null || origin === undefined) return;
    const given = origin.toLowerCase();
    // Its own pages come from where they are asked for; the host has been looked at.
    const own = typeof host === 'string' && given === `http://${host.toLowerCase()}`;
    if (own || this.#origins.has(given)) return;
    throw new CloisterError('origin_refused');
  }

  /** Whether a page from there may read what is answered. */
  allowsOrigin(origin: string): boolean {
    return this.#origins.has(origin.toLowerCase());
  }

  /** Throws `token_refused`, or `rate_exceeded`. */
  enter(authorization: string | null | undefined, apiKey: string | null | undefined): Caller {
    const caller = this.identify(authorization, apiKey);
    this.admit(caller);
    return caller;
  }

  /** Throws `token_refused`. Who is known is not admitted yet. */
  identify(authorization: string | null | undefined, apiKey: string | null | undefined): Caller {
    const given = bearerIn(authorization) ?? apiKey ?? undefined;
    // An empty one is none, whatever its hash is.
    const token = given === '' ? undefined : given;
    // A missing one is looked up as well: both take the same time.
    const caller = this.#options.identify(token ?? '');
    if (token === undefined || caller === undefined) throw new CloisterError('token_refused');
    return caller;
  }

  /** Throws `rate_exceeded`. */
  admit(caller: Caller): void {
    this.#options.admit(caller);
  }
}

const withoutPort = (host: string): string => host.replace(/:\d{1,5}$/u, '');

const bearerIn = (authorization: string | null | undefined): string | undefined =>
  /^bearer +([\w.~+/-]+=*) *$/iu.exec(authorization ?? '')?.[1];

// What the operator decides: providers, servers and defaults. Agent files only name these.
import type { JsonObject } from '#base';
import type { SpawnCaps } from './agent-file.ts';
import type { Price } from './model.ts';

/** What the runtime must know of a model; what is missing comes from the price data, or is unknown. */
export type ModelFacts = {
  readonly price?: Price;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
};

export type ProviderType =
  | 'openai'
  | 'anthropic'
  | 'google'
  | 'openrouter'
  | 'ollama'
  | 'openai-compatible'
  | 'rehearsal';

/** As written: `apiKey`, `baseUrl` and `headers` may hold `${VAR}`. */
export type ProviderConfig = {
  readonly type: ProviderType;
  readonly apiKey?: string;
  readonly baseUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** OpenAI only: which of its two interfaces; `responses` unless given. */
  readonly api?: 'responses' | 'chat';
  readonly models?: Readonly<Record<string, ModelFacts>>;
  /** Rehearsal only: a script beside the config. */
  readonly script?: string;
};

type ServerCommon = {
  /** Believe the server's read-only and idempotent hints: after a crash such calls run again. */
  readonly trusted?: boolean;
  /** Whether what it returns was written by strangers (web pages, mail); true unless it is trusted. */
  readonly untrustedText?: boolean;
  /** The tools that agents may name; all unless given. */
  readonly tools?: readonly string[];
  readonly connectTimeoutMs?: number;
};

/** As written: `args`, `env`, `url` and `headers` may hold `${VAR}`. */
export type ServerConfig = ServerCommon &
  (
    | {
        readonly type: 'stdio';
        readonly command: string;
        readonly args?: readonly string[];
        readonly env?: Readonly<Record<string, string>>;
        readonly cwd?: string;
      }
    | {
        readonly type: 'http' | 'sse' | 'websocket';
        readonly url: string;
        readonly headers?: Readonly<Record<string, string>>;
      }
    /** A module of the operator's whose default export is a list of tools; runs in this process. */
    | { readonly type: 'module'; readonly module: string }
  );

/** One `.ai-agent.json` with its `.ai-agent.env`, or the process environment alone. */
export type ConfigLayer = {
  /** For messages: the path of the file, `the shell`, or `built in`. */
  readonly source: string;
  /** Relative paths in it start here. */
  readonly folder: string;
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly servers: Readonly<Record<string, ServerConfig>>;
  /** Frontmatter keys that agents leave out, as written there. */
  readonly defaults: JsonObject;
  /** Where agents are looked for by name. */
  readonly agents: readonly string[];
  /** Who is meant where no agent is named, and whose conversations lie at the top. */
  readonly defaultAgent?: string;
  /** From the `env` block of the config. */
  readonly env: Readonly<Record<string, string>>;
  /** From the sidecar `.ai-agent.env`, or the process environment. */
  readonly sidecar: Readonly<Record<string, string>>;
  /** Variables that are not secret: they are not redacted. */
  readonly plain: readonly string[];
  /** The most that agent files may spawn, as far as this file says. */
  readonly spawns?: Partial<SpawnCaps>;
};

/** The environment one session sees: only what its providers and servers name. Frozen, without a prototype. */
export type Overlay = Readonly<Record<string, string>>;

/** A provider with everything filled in for one session. Every field is a string, so that no vendor's code looks further. */
export type ResolvedProvider = {
  readonly name: string;
  readonly type: Exclude<ProviderType, 'rehearsal'>;
  /** Empty when the provider takes none. */
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly api: 'responses' | 'chat';
};

/** A server with everything filled in for one session. */
export type ResolvedServer = ServerCommon & { readonly name: string } & (
    | {
        readonly type: 'stdio';
        readonly command: string;
        readonly args: readonly string[];
        /** The whole environment of the process. */
        readonly env: Readonly<Record<string, string>>;
        readonly cwd: string;
      }
    | {
        readonly type: 'http' | 'sse' | 'websocket';
        readonly url: string;
        readonly headers: Readonly<Record<string, string>>;
      }
  );

// The operator's configuration: providers, servers and defaults. Agent files refer to these by name.
import type { JsonObject } from '#base';
import type { SpawnCaps } from './agent-file.ts';
import type { ApprovalRule } from './approval.ts';
import type { KeepRules } from './keep-rules.ts';
import type { Price } from './model.ts';
import type { SlackConfig } from './slack-config.ts';
import type { IndeterminatePolicy } from './tool.ts';
import type { VendorType } from './vendors.ts';

/** Facts about a model. Missing ones come from the price data or are unknown. */
export type ModelFacts = {
  readonly price?: Price;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
  readonly structuredOutput?: boolean;
  /** Media types of files that it takes, such as `image/*`. */
  readonly attachments?: readonly string[];
};

/** `rehearsal`: a model that answers from a script. */
export type ProviderType = VendorType | 'rehearsal';

/** As written: `apiKey`, `baseUrl` and `headers` may contain `${VAR}`. */
export type ProviderConfig = {
  readonly type: ProviderType;
  readonly apiKey?: string;
  readonly baseUrl?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** OpenAI only: which API to use. Default: `responses`. */
  readonly api?: 'responses' | 'chat';
  readonly models?: Readonly<Record<string, ModelFacts>>;
  /** Rehearsal only: a script, relative to the config file. */
  readonly script?: string;
};

type ServerCommon = {
  /** Trust the server's read-only and idempotent hints: such calls are retried after a crash. */
  readonly trusted?: boolean;
  /** Whether it returns text from untrusted authors (web pages, mail). Default: true unless the server is trusted. */
  readonly untrustedText?: boolean;
  /** The tools that agents may use. Default: all. */
  readonly tools?: readonly string[];
  readonly connectTimeoutMs?: number;
  /** A person must allow each call of a tool that is destructive by the server's own hints, or says nothing. Not for modules. */
  readonly approve?: 'destructive';
};

/** As written: `args`, `env`, `url` and `headers` may contain `${VAR}`. */
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
    /** A module whose default export is a list of tools; it runs in this process. */
    | { readonly type: 'module'; readonly module: string }
  );

/** One `.ai-agent.json` with its `.ai-agent.env`, or only the process environment. */
export type ConfigLayer = {
  /** What is probably not meant as it is written. */
  readonly warnings?: readonly string[];
  /** For messages: the path of the file, `the shell`, or `built in`. */
  readonly source: string;
  /** Relative paths are resolved against this folder. */
  readonly folder: string;
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly servers: Readonly<Record<string, ServerConfig>>;
  /** Values for frontmatter keys that agents omit, as written in the file. */
  readonly defaults: JsonObject;
  /** Where agents are looked up by name. */
  readonly agents: readonly string[];
  /** Folders whose skills agent files may name. */
  readonly skills?: readonly string[];
  /** `<provider>/<model>` by the names that agents of other runtimes use. */
  readonly modelAliases?: Readonly<Record<string, string>>;
  /** The agent to use if none is named; its conversations are stored at the top level. */
  readonly defaultAgent?: string;
  /** From the `env` block of the config. */
  readonly env: Readonly<Record<string, string>>;
  /** From the sidecar `.ai-agent.env`, or the process environment. */
  readonly sidecar: Readonly<Record<string, string>>;
  /** Variables that are not secret: they are not redacted. */
  readonly plain: readonly string[];
  /** The limits on spawning that this file sets. */
  readonly spawns?: Partial<SpawnCaps>;
  /** The tools that a person must allow, and who may answer. */
  readonly approve?: Readonly<Record<string, ApprovalRule>>;
  /** What happens to calls that a crash has interrupted. */
  readonly indeterminate?: IndeterminatePolicy;
  /** How long recorded runs are kept. */
  readonly keep?: KeepRules;
  /** The app with which agents answer in Slack. */
  readonly slack?: SlackConfig;
};

/** The environment that one session sees: only the variables that its providers and servers refer to. Frozen, without a prototype. */
export type Overlay = Readonly<Record<string, string>>;

/** A provider with all values resolved for one session. Every field is set, so that vendor code does not fall back to the process environment. */
export type ResolvedProvider = {
  readonly name: string;
  readonly type: VendorType;
  /** Empty if the provider needs none. */
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly api: 'responses' | 'chat';
};

/** A server with all values resolved for one session. */
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

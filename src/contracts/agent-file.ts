// Agents as files: what one `.ai` file says, what is wrong with it, and what a set of them adds up to.
import type { JsonObject } from '#base';
import type { Limits, OutputFormat, InputFormat, ModelSettings, SpawnOptions } from './agent.ts';
import type { Budget } from './amounts.ts';
import type { GrantName, ShareName } from './crossing.ts';
import type { SpawnRules, TopicRules } from './mail.ts';

/** Something wrong in a file, with all that is needed to put it right. */
export type Problem = {
  readonly file: string;
  /** From 1; null when it is about the file as a whole. */
  readonly line: number | null;
  /** The key, dotted (`limits.maxRetries`); null when it is about none. */
  readonly key: string | null;
  /** One sentence: what is wrong, and what was expected. */
  readonly message: string;
  /** The valid key or name that was probably meant. */
  readonly nearest: string | null;
};

/** A sub-agent: a path from the file that names it, or a name to look up; and, if the caller wants it so, its answer as JSON. */
export type AgentReference = { readonly agent: string; readonly output?: OutputFormat };

/** The frontmatter, checked and in one form: flat keys and `limits:` alike, durations in milliseconds. What was left out is absent. */
export type Frontmatter = {
  readonly description: string;
  readonly usage: string;
  readonly output: OutputFormat;
  readonly toolName?: string;
  readonly input?: InputFormat;
  /** `<provider>/<model>`, in the order in which they are tried. */
  readonly models?: readonly string[];
  /** Tools of the runtime, `<server>`, or `<server>/<tool>`. */
  readonly tools?: readonly string[];
  readonly agents?: readonly AgentReference[];
  readonly gather?: { readonly timeoutMs: number };
  readonly limits?: Limits;
  readonly settings?: ModelSettings;
  readonly caching?: 'full' | 'none';
  readonly budget?: Budget;
  readonly grants?: readonly GrantName[];
  /** What of its caller's window it is given when it is called. */
  readonly share?: readonly ShareName[];
  readonly budgetGroup?: string;
  /** `<provider>/<model>` that puts old turns into a few words when the window needs room. */
  readonly compaction?: string;
  /** A hint to the model: at most so many agents at once, unless there is a reason. */
  readonly agentsAtOnce?: number;
  readonly spawns?: FileSpawns;
  readonly messages?: readonly string[];
  readonly topics?: readonly string[] | Partial<TopicRules>;
};

/** As `SpawnOptions`, with agents as they are named: a path from the file, a name to look up, or `self`. */
export type FileSpawns = Omit<SpawnOptions, 'agents'> & { readonly agents?: readonly string[] };

/** The operator's numbers: what holds for files that say nothing, and the most that a file may ask for. */
export type SpawnCaps = Pick<SpawnRules, 'children' | 'perMinute' | 'depth'>;

/** One `.ai` file, valid by itself. Nothing was looked up and no other file was read. */
export type AgentFile = {
  readonly path: string;
  /** The file's name without `.ai`. */
  readonly name: string;
  readonly frontmatter: Frontmatter;
  /** As written, variables not filled in. */
  readonly prompt: string;
  /** The line of each key that was given, dotted. */
  readonly lines: Readonly<Record<string, number>>;
};

/** A file that is not valid, as far as it could be read: what it names is looked up all the same. */
export type InvalidAgentFile = Pick<AgentFile, 'path' | 'name' | 'lines'> & {
  readonly frontmatter: Partial<Frontmatter>;
};

/** YAML as data, with the line of every key. */
export type YamlDocument = {
  readonly value: JsonObject;
  /** The line of a key or list item, from 1, or of the nearest one above it that exists. */
  line(path: readonly (string | number)[]): number;
};

/** Refuses what is not a plain mapping: tags, merge keys, aliases beyond a few, duplicate keys. */
export type ParseYaml = (
  text: string,
) => YamlDocument | { readonly problem: { readonly line: number; readonly message: string } };

/** One agent of a topology, everything it names looked up. */
export type TopologyAgent = {
  readonly file: string;
  readonly name: string;
  readonly toolName: string;
  readonly description: string;
  /** Files of its sub-agents. */
  readonly agents: readonly string[];
  readonly limits: Limits;
  readonly budget: Budget;
  /** What its models may think beyond their answers, in each request. */
  readonly thinkingTokens: number;
  readonly models: readonly {
    readonly name: string;
    /** Dollars per million tokens, the dearest; null: unknown. */
    readonly price: { readonly input: number; readonly output: number } | null;
    readonly contextTokens: number | null;
    readonly maxOutputTokens: number | null;
    /** Variables that its provider reads. */
    readonly variables: readonly string[];
  }[];
  /** Tools of the runtime and `<server>/<tool>` as named. */
  readonly tools: readonly string[];
  readonly servers: readonly {
    readonly name: string;
    readonly variables: readonly string[];
    readonly untrustedText: boolean;
  }[];
  /** What its file said itself, defaults apart. */
  readonly explicit: { readonly tools: boolean; readonly timeout: boolean };
  readonly mail?: TopologyMail;
};

export type TopologyMail = {
  /** Null: it spawns nobody. */
  readonly spawns: TopologySpawns | null;
  /** As its file has it; null: it says nothing. */
  readonly messages: readonly string[] | null;
  readonly topics: TopicRules;
};

export type TopologySpawns = SpawnCaps & {
  /** Files of those that it may spawn, without itself. */
  readonly agents: readonly string[];
  readonly self: boolean;
  /** Tools that agents of its own making may have; null: it may make none. */
  readonly templates: readonly string[] | null;
};

export type Topology = {
  readonly cycles: readonly (readonly string[])[];
  readonly worstCase: WorstCase;
  readonly reach: Readonly<Record<string, AgentReach>>;
  readonly warnings: readonly Warning[];
  readonly tree: readonly TopologyNode[];
};

/** Upper bounds if every model always asks for as much as it may. Null: there is none, or it is not known. */
export type WorstCase = {
  readonly agents: number | null;
  readonly depth: number;
  readonly tokens: number | null;
  readonly usd: number | null;
};

/** What an agent can touch itself, and what it can touch through the agents below it. */
export type AgentReach = {
  readonly env: readonly string[];
  readonly servers: readonly string[];
  readonly tools: readonly string[];
  readonly through: {
    readonly env: readonly string[];
    readonly servers: readonly string[];
    readonly tools: readonly string[];
  };
  readonly spawns?: SpawnReach;
};

/** What an agent may spawn: by name, `self` for its own kind; how many; and with which tools it may describe others. */
export type SpawnReach = SpawnCaps & {
  readonly agents: readonly string[];
  readonly templates: readonly string[] | null;
};

export type Warning = {
  readonly code:
    | 'untrusted-reaches-secret'
    | 'tools-not-named'
    | 'timeout-not-set'
    | 'description-vague'
    | 'unpriced'
    | 'not-reached'
    | 'secret-short';
  readonly agent: string;
  readonly message: string;
};

export type TopologyNode = {
  readonly name: string;
  readonly file: string;
  readonly agents: readonly TopologyNode[];
  /** It is started and not waited for. */
  readonly spawned?: true;
};

/** What `cloister check` found. */
export type CheckReport = {
  readonly ok: boolean;
  readonly agents: readonly { readonly name: string; readonly file: string; readonly description: string }[];
  readonly problems: readonly Problem[];
} & Topology;

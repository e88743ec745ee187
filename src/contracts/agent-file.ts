// Agents as files: the content of one `.ai` file, its problems, and the topology of a set of files.
import type { SlackAppNeeds } from './slack-app-needs.ts';
import type { JsonObject } from '#base';
import type { Limits, OutputFormat, InputFormat, ModelSettings, SpawnOptions } from './agent.ts';
import type { Budget } from './amounts.ts';
import type { ApprovalMarks } from './approval.ts';
import type { GrantName, ShareName } from './crossing.ts';
import type { KeepRules } from './keep-rules.ts';
import type { SpawnRules, TopicRules } from './mail.ts';

/** A problem in a file, with everything needed to fix it. */
export type Problem = {
  readonly file: string;
  /** Counted from 1; null if the problem concerns the whole file. */
  readonly line: number | null;
  /** The key, dotted (`limits.maxRetries`); null if the problem concerns no key. */
  readonly key: string | null;
  /** One sentence: what is wrong, and what was expected. */
  readonly message: string;
  /** The valid key or name that was probably meant. */
  readonly nearest: string | null;
  /** Set if only a variable has no value: the file itself is valid. */
  readonly code?: 'env_missing';
};

/** A sub-agent: a path relative to the file that lists it, or a name to look up; optionally with the output format this caller wants. */
export type AgentReference = { readonly agent: string; readonly output?: OutputFormat };

/** The checked, normalised frontmatter: flat keys and `limits:` merged, durations in milliseconds, omitted keys absent. */
export type Frontmatter = {
  readonly description: string;
  readonly usage?: string;
  readonly output?: OutputFormat;
  readonly toolName?: string;
  readonly input?: InputFormat;
  /** `<provider>/<model>`, in fallback order. */
  readonly models?: readonly string[];
  /** Built-in tools, `<server>`, or `<server>/<tool>`. */
  readonly tools?: readonly string[];
  /** Folders of skills, as written. */
  readonly skills?: readonly string[];
  readonly agents?: readonly AgentReference[];
  readonly gather?: { readonly timeoutMs: number };
  readonly limits?: Limits;
  readonly settings?: ModelSettings;
  readonly caching?: 'full' | 'none';
  readonly budget?: Budget;
  readonly grants?: readonly GrantName[];
  /** Parts of its caller's context it is given when it is called. */
  readonly share?: readonly ShareName[];
  readonly budgetGroup?: string;
  /** `<provider>/<model>` that summarises old turns when the context fills up. */
  readonly compaction?: string;
  /** Hint to the model: how many agents to call in parallel. */
  readonly agentsAtOnce?: number;
  readonly spawns?: FileSpawns;
  readonly messages?: readonly string[];
  readonly topics?: readonly string[] | Partial<TopicRules>;
  /** Tools that a person must allow. Who may answer is set in the config. */
  readonly approve?: readonly string[];
  /** It may ask a person. */
  readonly asks?: boolean;
};

/** Like `SpawnOptions`, with agents as written in the file: a path relative to it, a name to look up, or `self`. */
export type FileSpawns = Omit<SpawnOptions, 'agents'> & { readonly agents?: readonly string[] };

/** The operator's limits: the defaults for files that set none, and the most a file may request. */
export type SpawnCaps = Pick<SpawnRules, 'children' | 'perMinute' | 'depth'>;

/** One `.ai` file that is valid by itself. Nothing has been looked up, and no other file has been read. */
export type AgentFile = {
  readonly path: string;
  /** The file's name without `.ai`. */
  readonly name: string;
  readonly frontmatter: Frontmatter;
  /** As written; variables are not filled in. */
  readonly prompt: string;
  /** The line of each key in the file, by dotted key. */
  readonly lines: Readonly<Record<string, number>>;
  /** Keys that have no effect. Of an agent of another runtime: whatever is not as it was there. */
  readonly ignored: readonly Problem[];
};

/** The readable part of an invalid file. The names in it are still looked up. */
export type InvalidAgentFile = Pick<AgentFile, 'path' | 'name' | 'lines'> & {
  readonly frontmatter: Partial<Frontmatter>;
};

/** YAML as data, with the line of every key. */
export type YamlDocument = {
  readonly value: JsonObject;
  /** The line of a key or list item, counted from 1, or of its nearest existing ancestor. */
  line(path: readonly (string | number)[]): number;
};

/** Accepts only a plain mapping: no tags, no merge keys, only a few aliases, no duplicate keys. */
export type ParseYaml = (
  text: string,
) => YamlDocument | { readonly problem: { readonly line: number; readonly message: string } };

/** One agent of a topology, with all names resolved. */
export type TopologyAgent = {
  readonly file: string;
  readonly name: string;
  readonly toolName: string;
  readonly description: string;
  /** Files of its sub-agents. */
  readonly agents: readonly string[];
  readonly limits: Limits;
  readonly budget: Budget;
  /** Reasoning tokens its models may use per request, beyond their answers. */
  readonly thinkingTokens: number;
  readonly models: readonly {
    readonly name: string;
    /** USD per million tokens, at the highest price tier. Null: unknown. */
    readonly price: {
      readonly input: number;
      readonly output: number;
      /** The lowest price of any token, and of one of output. Absent: it has only the prices above. */
      readonly least?: { readonly token: number; readonly output: number };
    } | null;
    readonly contextTokens: number | null;
    readonly maxOutputTokens: number | null;
    /** Variables that its provider reads. */
    readonly variables: readonly string[];
  }[];
  /** Built-in tools and `<server>/<tool>`, as written. */
  readonly tools: readonly string[];
  readonly servers: readonly {
    readonly name: string;
    readonly variables: readonly string[];
    readonly untrustedText: boolean;
  }[];
  /** Whether the file itself sets these, not the defaults. */
  readonly explicit: { readonly tools: boolean; readonly timeout: boolean; readonly limits?: Limits };
  readonly mail?: TopologyMail;
  /** Names of its skills. */
  readonly skills?: readonly string[];
  /** What a person must allow. */
  readonly approve?: ApprovalMarks;
  /** It may ask a person. */
  readonly asks?: boolean;
};

export type TopologyMail = {
  /** Null: it cannot spawn. */
  readonly spawns: TopologySpawns | null;
  /** As written in its file. Null: not set. */
  readonly messages: readonly string[] | null;
  readonly topics: TopicRules;
};

type TopologySpawns = SpawnCaps & {
  /** Files of the agents it may spawn, without itself. */
  readonly agents: readonly string[];
  readonly self: boolean;
  /** Tools that agents it defines itself may have. Null: it may not define agents. */
  readonly templates: readonly string[] | null;
};

export type Topology = {
  readonly cycles: readonly (readonly string[])[];
  readonly worstCase: WorstCase;
  readonly reach: Readonly<Record<string, AgentReach>>;
  readonly warnings: readonly Warning[];
  readonly tree: readonly TopologyNode[];
};

/** Upper bounds if every model always requests as much as it may. Null: unbounded or unknown. */
export type WorstCase = {
  readonly agents: number | null;
  readonly depth: number;
  readonly tokens: number | null;
  readonly usd: number | null;
};

/** What an agent can access itself, and what it can access through the agents below it. */
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
  /** Absent: none. */
  readonly skills?: readonly string[];
  /** Tools that a person must allow. Absent: none. */
  readonly approve?: ApprovalMarks;
  /** Absent: it does not ask anybody. */
  readonly asks?: true;
};

/** Which agents an agent may spawn (by name; `self` for itself), how many, and which tools it may give to agents it defines. */
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
    | 'secret-short'
    | 'secret-weak'
    | 'model-passed-over'
    | 'model-unknown'
    /** A value in `.ai-agent.env` with quotes that are taken as part of it. */
    | 'env-quotes'
    /** Patterns of a tool's schema that only the tool checks. */
    | 'pattern-unchecked'
    /** No request, or no thinking of the level that is set, fits into a budget. */
    /** Something in a skill has no effect here, or is not read. */
    | 'skill-partly-used'
    /** The descriptions of its skills take much of every request. */
    | 'skills-long'
    | 'budget-small'
    | 'thinking-small'
    /** A key of another runtime, which has no effect. */
    | 'key-ignored'
    /** What an agent or a `.mcp.json` of another runtime means there and not here. */
    | 'not-as-written'
    /** A folder has agents of other runtimes, which are not loaded unless they are named. */
    | 'agents-not-loaded'
    /** `{{ … }}` or `{% … %}` of a template language, which nothing fills in. */
    | 'template-as-text'
    /** A mark for approval in the config that no tool matches. */
    | 'approve-unmatched'
    /** `keep` of the config names an agent whose name is like that of another one. */
    | 'keep-agent-unknown';
  readonly agent: string;
  readonly message: string;
};

/** `changed`: those that are not the defaults. */
export type EffectiveLimits = { readonly values: Limits; readonly changed: readonly (keyof Limits)[] };

export type TopologyNode = {
  readonly name: string;
  readonly file: string;
  readonly agents: readonly TopologyNode[];
  /** The limits in effect when it is started at this place, without those that are not limited. */
  readonly limits?: EffectiveLimits;
  /** It is spawned: its caller does not wait for it. */
  readonly spawned?: true;
};

/** The name of an agent as a tool, as written and as models see it. */
export type ToolNames = { readonly toolName: string; readonly modelToolName: string };

/** The result of `cloister check`. */
export type CheckReport = {
  readonly ok: boolean;
  readonly agents: readonly ({
    readonly name: string;
    readonly file: string;
    readonly description: string;
    /** Where it was found, if no path was given. */
    readonly from?: 'here' | 'config' | 'home';
    /** Whether its name alone means it; otherwise it is run by its path. Only if no path was given. */
    readonly byName?: boolean;
  } & ToolNames)[];
  readonly problems: readonly Problem[];
  /** What the app in Slack needs, if the config has one. */
  readonly slack?: SlackAppNeeds;
  /** How long recorded runs are kept, if the config says it. */
  readonly keep?: KeepRules;
} & Topology;

// The tools that a file of another runtime forbids.
//
//   import-denial-holds. What forbids a part of a tool forbids all of it, and a denial that cannot be understood forbids everything.
import { toAgentName } from '#base';
import type { Json } from '#base';
import { mapTool, splitNames } from './foreign-tools.ts';
import type { ForeignRuntime, NamedTool } from './foreign-tools.ts';

export type DeniedTools = {
  /** Null: the denial is understood. */
  readonly problem: string | null;
  denies(tool: NamedTool): boolean;
  deniesAgent(name: string): boolean;
};

/** `isReadable`: false if the key is written twice, so that no value counts. */
export const parseDeniedTools = (value: Json | undefined, isReadable: boolean): DeniedTools => {
  const names = splitNames(value);
  const isUnderstood = isReadable && isNameList(value ?? null) && names.every((name) => toolNamePattern.test(name));
  const denied: readonly NamedTool[] = isUnderstood
    ? names.flatMap((name) => runtimes.map((runtime) => mapTool(wholeName(name), runtime)))
    : [{ is: 'all' }];
  return {
    problem: isUnderstood ? null : 'It cannot be read as a list of tools, so the agent gets none. Check `tools`.',
    denies: (tool) => denied.some((one) => coversTool(one, tool)),
    deniesAgent: (name) =>
      denied.some(
        (one) =>
          one.is === 'all' ||
          one.is === 'calling' ||
          (one.is === 'agents' && one.agents.some((agent) => comparable(agent) === comparable(name))),
      ),
  };
};

/** A name that only the other runtime knows is a denial too. */
const runtimes: readonly ForeignRuntime[] = ['claude', 'copilot'];

const isNameList = (value: Json): boolean =>
  value === null ||
  typeof value === 'string' ||
  (Array.isArray(value) && value.every((item) => isNameList(item as Json)));

/** Files are also found by their names in small letters. */
const comparable = (name: string): string => toAgentName(name).toLowerCase();

/** One name, perhaps with a part in parentheses; anything else may be several names, or the rest of another line. */
const toolNamePattern = /^[\w*./:-]+(?:\([^()]*\))?$/u;

/** `Bash(git:*)` is `Bash`; the agents after `Agent` are names of their own. */
const wholeName = (name: string): string => (/^(?:Task|Agent)\(/u.test(name) ? name : name.replace(/\(.*$/u, ''));

const coversTool = (denied: NamedTool, tool: NamedTool): boolean => {
  switch (denied.is) {
    case 'all':
      return true;
    case 'tool':
      return tool.is === 'tool' && tool.tool === denied.tool;
    case 'server':
      if (tool.is !== 'server' || tool.server !== denied.server) return false;
      return denied.tool === null || tool.tool === null || tool.tool === denied.tool;
    case 'calling':
      return tool.is === 'calling';
    case 'agents':
    case 'missing':
      return false;
  }
};

// Tools of other runtimes, by the names that they have here.
//
//   import-never-widens. Every tool, server and agent in the result is one that the file names. What cannot be said as
//       narrowly as in the file (a pattern, a part of a tool) is left out.
import { toPlainName } from '#base';
import type { Json } from '#base';

export type ForeignRuntime = 'claude' | 'copilot';

export type NamedTool =
  | { readonly is: 'tool'; readonly tool: string }
  | { readonly is: 'server'; readonly server: string; readonly tool: string | null }
  | { readonly is: 'agents'; readonly agents: readonly string[] }
  /** All tools. */
  | { readonly is: 'all' }
  /** Calling other agents, without saying which. */
  | { readonly is: 'calling' }
  | { readonly is: 'missing' };

/** A text with commas, or a list. Commas in parentheses belong to the name. */
export const splitNames = (value: Json | undefined): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap((item) => splitNames(item as Json));
  if (typeof value !== 'string') return [];
  return [...value.matchAll(/(?:\([^()]*\)|[^,()])+/gu)].map(([name]) => name.trim()).filter((name) => name !== '');
};

export const mapTool = (name: string, runtime: ForeignRuntime): NamedTool =>
  name === '*' ? { is: 'all' } : runtime === 'claude' ? mapClaudeTool(name) : mapCopilotTool(name);

const claudeTools: ReadonlyMap<string, string> = new Map([
  ['Read', 'read_file'],
  ['NotebookRead', 'read_file'],
  ['Write', 'write_file'],
  ['Edit', 'write_file'],
  ['MultiEdit', 'write_file'],
  ['NotebookEdit', 'write_file'],
  ['Glob', 'list_files'],
  ['LS', 'list_files'],
]);

const mapClaudeTool = (name: string): NamedTool => {
  const tool = claudeTools.get(name);
  if (tool !== undefined) return { is: 'tool', tool };
  const [, agents] = /^(?:Task|Agent)\((.*)\)$/u.exec(name) ?? [];
  if (agents !== undefined) return { is: 'agents', agents: splitNames(agents) };
  if (name === 'Task' || name === 'Agent') return { is: 'calling' };
  const [, server, one = '*'] = /^mcp__(.+?)(?:__(.+))?$/u.exec(name) ?? [];
  return server === undefined ? { is: 'missing' } : serverTool(server, one);
};

const copilotTools: ReadonlyMap<string, string> = new Map([
  ...['read', 'readfile', 'read/readfile', 'view', 'notebookread'].map((name) => [name, 'read_file'] as const),
  ...['edit', 'editfiles', 'edit/editfiles', 'edit/createfile', 'multiedit', 'write', 'notebookedit'].map(
    (name) => [name, 'write_file'] as const,
  ),
  ...['search', 'search/filesearch', 'search/listdirectory', 'glob', 'ls'].map((name) => [name, 'list_files'] as const),
]);

/** Groups of built-in tools, which are written like those of a server. */
const copilotGroups = ['agent', 'browser', 'edit', 'execute', 'read', 'search', 'todo', 'todos', 'vscode', 'web'];

const mapCopilotTool = (name: string): NamedTool => {
  const lower = name.toLowerCase();
  const tool = copilotTools.get(lower);
  if (tool !== undefined) return { is: 'tool', tool };
  if (['agent', 'custom-agent', 'task', 'runsubagent', 'agent/runsubagent'].includes(lower)) return { is: 'calling' };
  const at = name.lastIndexOf('/');
  const server = name.slice(0, Math.max(0, at));
  if (server === '' || copilotGroups.includes(server.toLowerCase())) return { is: 'missing' };
  return serverTool(server, name.slice(at + 1));
};

const serverTool = (name: string, tool: string): NamedTool => {
  const server = toPlainName(name);
  if (server === '') return { is: 'missing' };
  if (tool === '*') return { is: 'server', server, tool: null };
  return /^[^\s/*?()]{1,128}$/u.test(tool) ? { is: 'server', server, tool } : { is: 'missing' };
};

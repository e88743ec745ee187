// Ids and names. Ids that a cell can see are random: never sequential, never ordered by time.
declare const brand: unique symbol;
type Branded<B extends string> = string & { readonly [brand]: B };

/** The id of a run. */
export type RunId = Branded<'run'>;
/** The id of a cell, unique in its run. */
export type CellId = Branded<'cell'>;
/** Lower-case hex SHA-256. */
export type Hash = Branded<'hash'>;

/** Valid names of agents, tools, runs and cells. A name becomes a path segment and a tool name. */
const nameShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u;

/** The nearest text of letters, digits, `_` and `-`; empty if there is none. */
export const toPlainName = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9_-]+/gu, '-')
    .replace(/^[^A-Za-z0-9]+/u, '')
    .slice(0, 64);

export const isName = (text: string): boolean => nameShape.test(text) && !text.includes('..');

/** An agent is named after its file: `researcher.ai`, or `code reviewer.agent.md` of another runtime. */
export const agentNameFromPath = (path: string): string => {
  const base = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  return base.endsWith('.md')
    ? toAgentName(base.replace(/(?:\.(?:agent|chatmode))?\.md$/u, ''))
    : base.replace(/\.ai$/u, '');
};

/** The nearest text that can be the name of an agent. */
export const toAgentName = (text: string): string => {
  const name = text
    .normalize('NFKD')
    .replaceAll(/[^\w.-]+/gu, '-')
    .replaceAll(/\.{2,}/gu, '.')
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/gu, '')
    .slice(0, 64);
  return isName(name) ? name : 'agent';
};

/** A file that defines an agent: ours, or Markdown of another runtime. */
export const isAgentPath = (path: string): boolean => /\.(?:ai|md)$/u.test(path);

// Parses one `.ai` file on its own: all its problems in one go, or its content. No other file is read.
import { agentNameFromPath, isName, toAgentName } from '#base';
import type { ShapePath } from '#base/shapes';
import type { AgentFile, InvalidAgentFile, ParseYaml, Problem } from '#contracts';
import { readForeignAgent } from './foreign-agent.ts';
import type { ModelAliases } from './foreign-models.ts';
import { parseFrontmatter } from './parse-frontmatter.ts';
import type { ParsedFrontmatter } from './parse-frontmatter.ts';
import type { ParsePorts } from './read-yaml-file.ts';
import { splitFile } from './split-file.ts';

export type ParsedFile = {
  readonly file: AgentFile | null;
  /** Set if the file is invalid but could be read in part. */
  readonly broken?: InvalidAgentFile;
  readonly problems: readonly Problem[];
};

type FilePorts = ParsePorts & {
  readonly parseYaml: ParseYaml;
  /** For agents of other runtimes. Absent: the config is not read. */
  readonly modelAliases?: ModelAliases;
};

export const parseAgentFile = (path: string, text: string, ports: FilePorts): ParsedFile => {
  const name = agentNameFromPath(path);
  const problems: Problem[] = [];
  const add = (line: number | null, message: string): void => {
    problems.push({ file: path, line, key: null, message, nearest: null });
  };
  if (!isName(name)) add(null, nameProblem);

  if (path.endsWith('.md')) return parseForeign(path, text, ports);
  const split = splitFile(text);
  if ('problem' in split) {
    add(split.problem.line, split.problem.message);
    return { file: null, problems };
  }
  const { frontmatter: yaml, frontmatterLine, prompt } = split;
  const document = ports.parseYaml(yaml);
  if ('problem' in document) {
    add(frontmatterLine - 1 + document.problem.line, document.problem.message);
    return { file: null, problems };
  }
  const line = (key: ShapePath): number => frontmatterLine - 1 + document.line(key);
  const parsed = parseFrontmatter(document.value, { file: path, line, startLine: frontmatterLine - 1 }, ports);
  const lines = linesByKey(parsed.keys, line);
  if (parsed.frontmatter === null || problems.length > 0)
    return {
      file: null,
      broken: { path, name, frontmatter: parsed.read, lines },
      problems: [...problems, ...parsed.problems],
    };
  return { file: { path, name, frontmatter: parsed.frontmatter, prompt, lines, ignored: parsed.ignored }, problems };
};

/** Reads an agent of another runtime in place. A server that the operator does not have is reported when it is looked up. */
const parseForeign = (path: string, text: string, ports: FilePorts): ParsedFile => {
  const { parseYaml, modelAliases = null } = ports;
  const found = { parseYaml, modelAliases, hasServer: () => true, findAgent: toAgentName };
  const agent = readForeignAgent(path, text, found);
  const line = (key: ShapePath): number => agent.line(String(key[0]));
  const parsed = parseFrontmatter(agent.keys, { file: path, line, startLine: 1 }, ports);
  const lines = linesByKey(parsed.keys, line);
  const name = agentNameFromPath(path);
  const ignored = agent.notes.map(({ line: at, key, message }) => ({
    file: path,
    line: at,
    key,
    message,
    nearest: null,
  }));
  if (parsed.frontmatter === null)
    return { file: null, broken: { path, name, frontmatter: parsed.read, lines }, problems: parsed.problems };
  return { file: { path, name, frontmatter: parsed.frontmatter, prompt: agent.prompt, lines, ignored }, problems: [] };
};

const nameProblem =
  'The file name is the agent name: expected letters, digits, dot, dash and underscore, at most 64 characters, followed by `.ai`.';

/** Lines by key as written, and by the key under which the value is stored. */
const linesByKey = (
  keys: ParsedFrontmatter['keys'],
  line: (path: ShapePath) => number,
): Readonly<Record<string, number>> => {
  const lines: Record<string, number> = {};
  for (const { path, into } of keys) lines[path.join('.')] = lines[into.join('.')] = line(path);
  return lines;
};

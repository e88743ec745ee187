// Finds the operator's configuration files in order, and reports their problems.
//
//   config-file-counts-once. At its first position, even if it is reached twice.
//   config-reads-listed-files-only. Only the files listed here are read; the environment is passed in.
//   config-file-read-once. A file is read and checked once for each `ConfigFiles`, however many folders it applies to.
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ShapePath } from '#base/shapes';
import type { ConfigLayer, Problem } from '#contracts';
import { checkConfig, checkMcpFile } from './check-config.ts';
import type { CheckedConfig, ConfigNote } from './check-config.ts';
import { mcpFileFolder } from './mcp-file.ts';
import { parseEnv } from './parse-env.ts';
import { readJsonFile } from './read-json-file.ts';

type ConfigPlaces = {
  /** The path after `--config`; the file must exist. */
  readonly explicit?: string;
  readonly cwd: string;
  /** The folder of the prompt file. */
  readonly beside?: string;
  readonly home: string;
  /** Default: `/etc/ai-agent`. */
  readonly etc?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

type ReadConfig = {
  readonly layers: readonly ConfigLayer[];
  readonly problems: readonly Problem[];
  readonly notes: readonly ConfigNote[];
};

const configName = '.ai-agent.json';
const sidecarName = '.ai-agent.env';

type CheckedFile = { readonly config: CheckedConfig; readonly problems: readonly Problem[] };

/** The files that one command has read. */
export class ConfigFiles {
  readonly #texts = new Map<string, TextFile>();
  readonly #checked = new Map<string, CheckedFile>();

  text(file: string): TextFile {
    let read = this.#texts.get(file);
    if (read === undefined) this.#texts.set(file, (read = readText(file)));
    return read;
  }

  check(file: string, text: string): CheckedFile {
    let checked = this.#checked.get(file);
    if (checked === undefined) this.#checked.set(file, (checked = checkConfig(file, text)));
    return checked;
  }

  /** A problem that shows only when the config is used, with its line. */
  locate(file: string, path: ShapePath, message: string, nearest: string | null): Problem {
    const read = this.text(file);
    const json = readJsonFile(file, read.kind === 'text' ? read.text : '{}');
    json.add(path, message, nearest);
    return json.problems.at(-1)!;
  }
}

export const readConfigLayers = (places: ConfigPlaces, known = new ConfigFiles()): ReadConfig => {
  const { explicit, cwd, beside, home, etc = '/etc/ai-agent', env } = places;
  const folders = [cwd, ...(beside === undefined ? [] : [beside]), join(home, '.ai-agent'), etc];
  const files = [
    ...(explicit === undefined ? [] : [resolve(cwd, explicit)]),
    ...folders.map((folder) => join(resolve(cwd, folder), configName)),
  ];
  const state: LayerReadState = { known, seen: new Set(), problems: [], notes: [] };
  const layers: ConfigLayer[] = [];
  for (const [index, file] of files.entries()) {
    layers.push(...readLayer(file, explicit !== undefined && index === 0, state));
  }
  const { problems, notes } = state;
  return { layers: [...layers, shellLayer(resolve(cwd), env)], problems, notes };
};

type LayerReadState = {
  readonly known: ConfigFiles;
  readonly seen: Set<string>;
  readonly problems: Problem[];
  readonly notes: ConfigNote[];
};

/** The layer of a file, and after it that of the `.mcp.json` that it names. */
const readLayer = (file: string, required: boolean, state: LayerReadState): readonly ConfigLayer[] => {
  const folder = dirname(file);
  const text = readOnce(file, required, state);
  const config = text === null ? null : check(file, text, state);
  const sidecarFile = join(folder, sidecarName);
  const sidecarText = readOnce(sidecarFile, false, state);
  if (config === null && sidecarText === null) return [];
  const { mcp, ...own } = config ?? emptyConfig;
  const layer: ConfigLayer = {
    source: config === null ? sidecarFile : file,
    folder,
    ...emptyConfig,
    ...own,
    ...(sidecarText === null ? { sidecar: none } : readSidecar(sidecarFile, sidecarText, state)),
  };
  return [layer, ...(mcp === undefined ? [] : readMcpLayer(resolve(folder, mcp), state))];
};

const readMcpLayer = (file: string, state: LayerReadState): readonly ConfigLayer[] => {
  if (state.known.text(file).kind === 'absent')
    report(state, file, null, 'The file does not exist; fix `mcp` in .ai-agent.json.');
  const text = readOnce(file, false, state);
  if (text === null) return [];
  const { servers, problems, notes } = checkMcpFile(file, text);
  state.problems.push(...problems);
  state.notes.push(...notes);
  return [{ source: file, folder: mcpFileFolder(file), ...emptyConfig, servers, sidecar: none }];
};

/** Null when the file does not exist or was already read. */
const readOnce = (file: string, required: boolean, state: LayerReadState): string | null => {
  const read = state.known.text(file);
  if (read.kind === 'problem') report(state, file, null, read.message);
  if (read.kind === 'absent' && required)
    report(state, file, null, 'The file does not exist; fix the path after --config.');
  if (read.kind !== 'text' || state.seen.has(read.id)) return null;
  state.seen.add(read.id);
  return read.text;
};

const check = (file: string, text: string, state: LayerReadState): CheckedConfig => {
  const { config, problems } = state.known.check(file, text);
  state.problems.push(...problems);
  return config;
};

const readSidecar = (file: string, text: string, state: LayerReadState): Pick<ConfigLayer, 'sidecar' | 'warnings'> => {
  const { values, problems, warnings } = parseEnv(text);
  for (const { line, message } of problems) report(state, file, line, message);
  if (warnings.length === 0) return { sidecar: values };
  return { sidecar: values, warnings: warnings.map(({ line, message }) => `${file}:${line} ${message}`) };
};

const report = (state: LayerReadState, file: string, line: number | null, message: string): void => {
  state.problems.push({ file, line, key: null, message, nearest: null });
};

const none: Readonly<Record<string, never>> = Object.freeze(Object.create(null) as Record<string, never>);

const emptyConfig: CheckedConfig = { providers: none, servers: none, defaults: none, agents: [], env: none, plain: [] };

const shellLayer = (folder: string, env: ConfigPlaces['env']): ConfigLayer => {
  const sidecar = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(env)) if (value !== undefined) sidecar[name] = value;
  return { source: 'the shell', folder, ...emptyConfig, sidecar: Object.freeze(sidecar) };
};

// Reads one small text file, or reports why it cannot. Never blocks: a pipe or device is refused.
const bytesMax = 1_000_000;

type TextFile =
  /** `id` is the same for every path to the file. */
  | { readonly kind: 'text'; readonly text: string; readonly id: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'problem'; readonly message: string };

/** Synchronous: most of the files do not exist, and asynchronous lookups would take longer. */
const readText = (path: string): TextFile => {
  let file: number | undefined;
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return { kind: 'absent' };
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file, { bigint: true });
    if (!stat.isFile()) return problem('Not a regular file; replace it with one.');
    if (stat.size > bytesMax) return problem(`The file is larger than the limit of ${bytesMax} bytes.`);
    return { kind: 'text', text: decode(readFileSync(file)), id: `${stat.dev}:${stat.ino}` };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return problem('The file is not valid UTF-8; save it as UTF-8.');
    return problem(`The file cannot be read (${code}); check its permissions.`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
};

const problem = (message: string): TextFile => ({ kind: 'problem', message });

/** Drops a byte order mark. */
const decode = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

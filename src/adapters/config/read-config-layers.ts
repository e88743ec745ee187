// Finds the operator's configuration: which files there are, in which order, and what is wrong with them.
//
//   L1. A file that is reached in two ways counts once, where it is reached first.
//   L2. Nothing is read but the files listed here; the environment is handed in.
import { dirname, join, resolve } from 'node:path';
import type { ConfigLayer, Problem } from '#contracts';
import type { CheckedConfig } from './check-config.ts';
import { parseEnv } from './parse-env.ts';
import { readText } from './read-text.ts';

export type ConfigPlaces = {
  /** What `--config` named: it must be there. */
  readonly explicit?: string;
  readonly cwd: string;
  /** The folder of the prompt file. */
  readonly beside?: string;
  readonly home: string;
  /** `/etc/ai-agent` unless given. */
  readonly etc?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

export type ReadConfig = { readonly layers: readonly ConfigLayer[]; readonly problems: readonly Problem[] };

const configName = '.ai-agent.json';
const sidecarName = '.ai-agent.env';

export const readConfigLayers = async (places: ConfigPlaces): Promise<ReadConfig> => {
  const { explicit, cwd, beside, home, etc = '/etc/ai-agent', env } = places;
  const folders = [cwd, ...(beside === undefined ? [] : [beside]), join(home, '.ai-agent'), etc];
  const files = [
    ...(explicit === undefined ? [] : [resolve(cwd, explicit)]),
    ...folders.map((folder) => join(resolve(cwd, folder), configName)),
  ];
  const desk: LayerReadState = { seen: new Set(), problems: [] };
  const layers: ConfigLayer[] = [];
  for (const [index, file] of files.entries()) {
    const layer = await readLayer(file, explicit !== undefined && index === 0, desk);
    if (layer !== null) layers.push(layer);
  }
  return { layers: [...layers, shellLayer(resolve(cwd), env)], problems: desk.problems };
};

type LayerReadState = { readonly seen: Set<string>; readonly problems: Problem[] };

const readLayer = async (file: string, required: boolean, desk: LayerReadState): Promise<ConfigLayer | null> => {
  const folder = dirname(file);
  const text = await readOnce(file, required, desk);
  const config = text === null ? null : await check(file, text, desk);
  const sidecarFile = join(folder, sidecarName);
  const sidecarText = await readOnce(sidecarFile, false, desk);
  if (config === null && sidecarText === null) return null;
  return {
    source: config === null ? sidecarFile : file,
    folder,
    ...emptyConfig,
    ...config,
    sidecar: sidecarText === null ? none : readSidecar(sidecarFile, sidecarText, desk),
  };
};

/** Null when there is nothing to read, or nothing new. */
const readOnce = async (file: string, required: boolean, desk: LayerReadState): Promise<string | null> => {
  const read = readText(file);
  if (read.kind === 'problem') report(desk, file, null, read.message);
  if (read.kind === 'absent' && required)
    report(desk, file, null, 'There is no such file; correct the path after --config.');
  if (read.kind !== 'text' || desk.seen.has(read.id)) return null;
  desk.seen.add(read.id);
  return read.text;
};

/** The checks are loaded when there is something to check: without configuration files nothing is paid for them. */
const check = async (file: string, text: string, desk: LayerReadState): Promise<CheckedConfig> => {
  const { checkConfig } = await import('./check-config.ts');
  const { config, problems } = checkConfig(file, text);
  desk.problems.push(...problems);
  return config;
};

const readSidecar = (file: string, text: string, desk: LayerReadState): Readonly<Record<string, string>> => {
  const { values, problems } = parseEnv(text);
  for (const { line, message } of problems) report(desk, file, line, message);
  return values;
};

const report = (desk: LayerReadState, file: string, line: number | null, message: string): void => {
  desk.problems.push({ file, line, key: null, message, nearest: null });
};

const none: Readonly<Record<string, never>> = Object.freeze(Object.create(null) as Record<string, never>);

const emptyConfig: CheckedConfig = { providers: none, servers: none, defaults: none, agents: [], env: none, plain: [] };

const shellLayer = (folder: string, env: ConfigPlaces['env']): ConfigLayer => {
  const sidecar = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(env)) if (value !== undefined) sidecar[name] = value;
  return { source: 'the shell', folder, ...emptyConfig, sidecar: Object.freeze(sidecar) };
};

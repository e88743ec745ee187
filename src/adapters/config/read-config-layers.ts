// Finds the operator's configuration files in order, and reports their problems.
//
//   config-file-counts-once. At its first position, even if it is reached twice.
//   config-reads-listed-files-only. Only the files listed here are read; the environment is passed in.
//   config-file-read-once. A file is read and checked once for each `ConfigFiles`, however many folders it applies to.
import { dirname, join, resolve } from 'node:path';
import type { ConfigLayer, Problem } from '#contracts';
import { checkConfig } from './check-config.ts';
import type { CheckedConfig } from './check-config.ts';
import { parseEnv } from './parse-env.ts';
import { readText } from './read-text.ts';
import type { TextFile } from './read-text.ts';

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

type ReadConfig = { readonly layers: readonly ConfigLayer[]; readonly problems: readonly Problem[] };

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
}

export const readConfigLayers = (places: ConfigPlaces, known = new ConfigFiles()): ReadConfig => {
  const { explicit, cwd, beside, home, etc = '/etc/ai-agent', env } = places;
  const folders = [cwd, ...(beside === undefined ? [] : [beside]), join(home, '.ai-agent'), etc];
  const files = [
    ...(explicit === undefined ? [] : [resolve(cwd, explicit)]),
    ...folders.map((folder) => join(resolve(cwd, folder), configName)),
  ];
  const state: LayerReadState = { known, seen: new Set(), problems: [] };
  const layers: ConfigLayer[] = [];
  for (const [index, file] of files.entries()) {
    const layer = readLayer(file, explicit !== undefined && index === 0, state);
    if (layer !== null) layers.push(layer);
  }
  return { layers: [...layers, shellLayer(resolve(cwd), env)], problems: state.problems };
};

type LayerReadState = { readonly known: ConfigFiles; readonly seen: Set<string>; readonly problems: Problem[] };

const readLayer = (file: string, required: boolean, state: LayerReadState): ConfigLayer | null => {
  const folder = dirname(file);
  const text = readOnce(file, required, state);
  const config = text === null ? null : check(file, text, state);
  const sidecarFile = join(folder, sidecarName);
  const sidecarText = readOnce(sidecarFile, false, state);
  if (config === null && sidecarText === null) return null;
  return {
    source: config === null ? sidecarFile : file,
    folder,
    ...emptyConfig,
    ...config,
    sidecar: sidecarText === null ? none : readSidecar(sidecarFile, sidecarText, state),
  };
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

const readSidecar = (file: string, text: string, state: LayerReadState): Readonly<Record<string, string>> => {
  const { values, problems } = parseEnv(text);
  for (const { line, message } of problems) report(state, file, line, message);
  return values;
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

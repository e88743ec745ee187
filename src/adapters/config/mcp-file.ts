// The servers of a `.mcp.json`, as other programs write it, as entries of `mcpServers` here.
import { basename, dirname } from 'node:path';
import { isObject, toPlainName } from '#base';
import type { Json, JsonObject } from '#base';
import type { ImportNote } from '#contracts';

type ConvertedServers = {
  readonly servers: JsonObject;
  /** `key`: the server and its key. Their lines are not known here. */
  readonly notes: readonly ImportNote[];
  /** What is written differently here and means the same. */
  readonly rewritten: readonly ImportNote[];
};

/** Where other programs start the servers of a file: beside it, or in the project whose settings it is among. */
export const mcpFileFolder = (file: string): string => {
  const folder = dirname(file);
  return ['.vscode', '.cursor'].includes(basename(folder)) ? dirname(folder) : folder;
};

/** `mcpServers` in most programs, `servers` in VS Code. Null: the file has neither. */
export const mcpEntries = (file: Json | undefined): JsonObject | null => {
  if (!isObject(file)) return null;
  const entries = file['mcpServers'] ?? file['servers'];
  return isObject(entries) ? entries : null;
};

export const convertServers = (entries: JsonObject): ConvertedServers => {
  const servers: Record<string, Json> = {};
  const notes: ImportNote[] = [];
  const rewritten: ImportNote[] = [];
  for (const [written, entry] of Object.entries(entries)) {
    const noteOf = (kind: ImportNote['kind'], key: string, message: string): ImportNote => ({
      kind,
      line: null,
      key: key === '' ? written : `${written}.${key}`,
      message,
    });
    const add: AddNote = (kind, key, message) => void notes.push(noteOf(kind, key, message));
    const addRewritten = (key: string, message: string): void => void rewritten.push(noteOf('changed', key, message));
    const name = toPlainName(written);
    if (name === '' || Object.hasOwn(servers, name))
      add('decide', '', 'Its name cannot be used here: give it another one.');
    else {
      if (name !== written) add('changed', '', `The server is named ${name} here.`);
      servers[name] = isObject(entry) ? convertServer(entry, add, addRewritten) : (entry ?? null);
    }
  }
  return { servers, notes, rewritten };
};

type AddNote = (kind: ImportNote['kind'], key: string, message: string) => void;

const convertServer = (
  entry: JsonObject,
  add: AddNote,
  addRewritten: (key: string, message: string) => void,
): JsonObject => {
  const { disabled, transport, ...rest } = entry;
  const kept: Record<string, Json> = {};
  for (const [key, value] of Object.entries(rest)) {
    const why = reported.get(key);
    if (why === undefined)
      kept[key] = withOurVariables(value!, (kind, name, written) => {
        if (kind === 'env') addRewritten(key, `\`${written}\` is written as \`\${${name}}\`.`);
        else add('decide', key, `Set ${name} in .ai-agent.env: it was asked for when the server started.`);
      });
    else add('dropped', key, why);
  }
  if (transport !== undefined && kept['type'] === undefined) kept['type'] = transport;
  if (kept['type'] === 'local') kept['type'] = 'stdio';
  if (disabled === true) {
    kept['enabled'] = false;
    addRewritten('disabled', 'Written as `"enabled": false`.');
  }
  return kept;
};

/** Keys that mean nothing here, or something that is set elsewhere. */
const reported: ReadonlyMap<string, string> = new Map([
  ['timeout', 'How long a call may take is set by `toolTimeout`, in an agent file or in `defaults`.'],
  ...['alwaysAllow', 'autoApprove', 'trust'].map(
    (key) => [key, 'Nobody is asked before a tool is used: an agent has the tools that its file names.'] as const,
  ),
  ...['description', 'icon', 'gallery', 'version', 'note', 'comment'].map(
    (key) => [key, 'It has no effect here.'] as const,
  ),
]);

/** `${env:NAME}` and `${input:name}` of VS Code as `${NAME}`. */
const withOurVariables = (value: Json, onVariable: (kind: string, name: string, written: string) => void): Json => {
  if (typeof value === 'string')
    return value.replaceAll(/\$\{(env|input):([\w-]{1,80})\}/gu, (written: string, kind: string, name: string) => {
      const variable = kind === 'env' ? name : name.toUpperCase().replaceAll('-', '_');
      onVariable(kind, variable, written);
      return `\${${variable}}`;
    });
  if (Array.isArray(value)) return value.map((item) => withOurVariables(item as Json, onVariable));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withOurVariables(one!, onVariable)]));
};

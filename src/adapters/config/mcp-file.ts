// The servers of a `.mcp.json`, as other programs write it, as entries of `mcpServers` here.
import { isObject, toPlainName } from '#base';
import type { Json, JsonObject } from '#base';
import type { ImportNote } from '#contracts';

type ConvertedServers = {
  readonly servers: JsonObject;
  /** `key`: the server and its key. Their lines are not known here. */
  readonly notes: readonly ImportNote[];
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
  for (const [written, entry] of Object.entries(entries)) {
    const add = (kind: ImportNote['kind'], key: string, message: string): void =>
      void notes.push({ kind, line: null, key: key === '' ? written : `${written}.${key}`, message });
    const name = toPlainName(written);
    if (name === '' || Object.hasOwn(servers, name))
      add('decide', '', 'Its name cannot be used here: give it another one.');
    else {
      if (name !== written) add('changed', '', `The server is named ${name} here.`);
      servers[name] = isObject(entry) ? convertServer(entry, add) : (entry ?? null);
    }
  }
  return { servers, notes };
};

type AddNote = (kind: ImportNote['kind'], key: string, message: string) => void;

const convertServer = (entry: JsonObject, add: AddNote): JsonObject => {
  const { disabled, transport, ...rest } = entry;
  const kept: Record<string, Json> = {};
  for (const [key, value] of Object.entries(rest)) {
    const why = reported.get(key);
    if (why === undefined)
      kept[key] = withOurVariables(value!, (name) =>
        add('decide', key, `Set ${name} in .ai-agent.env: it was asked for when the server started.`),
      );
    else add('dropped', key, why);
  }
  if (transport !== undefined && kept['type'] === undefined) kept['type'] = transport;
  if (kept['type'] === 'local') kept['type'] = 'stdio';
  if (disabled === true) {
    kept['enabled'] = false;
    add('changed', 'disabled', 'Written as `"enabled": false`.');
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
const withOurVariables = (value: Json, onInput: (name: string) => void): Json => {
  if (typeof value === 'string')
    return value.replaceAll(/\$\{(env|input):([\w-]{1,80})\}/gu, (_, kind: string, name: string) => {
      const variable = kind === 'env' ? name : name.toUpperCase().replaceAll('-', '_');
      if (kind === 'input') onInput(variable);
      return `\${${variable}}`;
    });
  if (Array.isArray(value)) return value.map((item) => withOurVariables(item as Json, onInput));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withOurVariables(one!, onInput)]));
};

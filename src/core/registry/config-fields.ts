// The declared fields of a provider or server: the only ones in which variables are filled in.
import type { ProviderConfig, ServerConfig } from '#contracts';
import { placeholdersIn } from './config-placeholders.ts';

export type ConfigEntry = ProviderConfig | ServerConfig;

export type ConfigField = {
  /** For messages: `headers.Authorization`. */
  readonly label: string;
  readonly text: string;
  /** The parts of it that are secret if they were written out. */
  readonly credentials: (literal: string) => readonly string[];
};

export const fieldsOf = (config: ConfigEntry): readonly ConfigField[] => {
  switch (config.type) {
    case 'stdio':
      return [...(config.args ?? []).map(argField), ...named('env', config.env, byName)];
    case 'http':
    case 'sse':
    case 'websocket':
      return [{ label: 'url', text: config.url, credentials: inUrl }, ...named('headers', config.headers, inHeader)];
    case 'module':
      return [];
    default:
      return [
        ...(config.apiKey === undefined ? [] : [{ label: 'apiKey', text: config.apiKey, credentials: whole }]),
        ...(config.baseUrl === undefined ? [] : [{ label: 'baseUrl', text: config.baseUrl, credentials: inUrl }]),
        ...named('headers', config.headers, inHeader),
      ];
  }
};

/** The names of the variables that its declared fields hold, each once. */
export const variablesOf = (config: ConfigEntry): readonly string[] => [
  ...new Set(fieldsOf(config).flatMap(({ text }) => placeholdersIn(text).map(({ name }) => name))),
];

/** Those of them that have no default somewhere. */
export const requiredOf = (config: ConfigEntry): readonly string[] => [
  ...new Set(
    fieldsOf(config).flatMap(({ text }) =>
      placeholdersIn(text).flatMap(({ name, fallback }) => (fallback === null ? [name] : [])),
    ),
  ),
];

type Credentials = ConfigField['credentials'];

const credentialName = /auth|cookie|credential|key|passw|secret|token/iu;

const named = (
  block: string,
  values: Readonly<Record<string, string>> | undefined,
  of: (name: string) => Credentials,
): readonly ConfigField[] =>
  Object.entries(values ?? {}).map(([name, text]) => ({ label: `${block}.${name}`, text, credentials: of(name) }));

const whole: Credentials = (literal) => [literal];

const nothing: Credentials = () => [];

const byName = (name: string): Credentials => (credentialName.test(name) ? whole : nothing);

/** The value, and its words without the scheme (`Bearer …`) and without a cookie's name: these are seen apart. */
const inHeader = (name: string): Credentials =>
  credentialName.test(name)
    ? (literal) => {
        const words = literal.split(/[\s;,]+/u);
        const values = words.length > 1 && !words[0]!.includes('=') ? words.slice(1) : words;
        return [literal, ...values, ...values.map((word) => word.slice(word.indexOf('=') + 1))];
      }
    : nothing;

/** A password before the host, and query parameters with a telling name. */
const inUrl: Credentials = (literal) => [
  ...[...literal.matchAll(/^[^/?#]*\/\/[^/?#@]*:([^/?#@]*)@/gu)].map((match) => match[1]!),
  ...[...literal.matchAll(/[?&]([^=&#]*)=([^&#]*)/gu)].flatMap(([, name, value]) =>
    credentialName.test(name!) ? [value!] : [],
  ),
];

/** `--api-key=…`, or what follows `--api-key`. */
const argField = (text: string, index: number, args: readonly string[]): ConfigField => {
  const flag = /^--?[\w-]+/u.exec(args[index - 1] ?? '');
  const follows = flag !== null && flag[0] === args[index - 1] && credentialName.test(flag[0]) && !text.startsWith('-');
  return { label: `args.${index}`, text, credentials: follows ? whole : inFlag };
};

const inFlag: Credentials = (literal) => {
  const [, name, value] = /^(--?[\w-]+)=(.*)$/su.exec(literal) ?? [];
  return name !== undefined && credentialName.test(name) ? [value!] : inUrl(literal);
};

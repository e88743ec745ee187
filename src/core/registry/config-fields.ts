// The fields of a provider, a server or the Slack app in which variables are filled in. There are no others.
import type { ProviderConfig, ServerConfig, SlackConfig, Overlay } from '#contracts';

export type ConfigEntry = ProviderConfig | ServerConfig | SlackConfig;

export type ConfigField = {
  /** For error messages, such as `headers.Authorization`. */
  readonly label: string;
  readonly text: string;
  /** The parts that are secret if the config contains them literally. */
  readonly credentials: (literal: string) => readonly string[];
};

export const slackSecretNames = ['botToken', 'appToken', 'signingSecret'] as const;

export const configFields = (config: ConfigEntry): readonly ConfigField[] => {
  if ('botToken' in config)
    return slackSecretNames.flatMap((label) => {
      const { [label]: text } = config;
      return text === undefined ? [] : [{ label, text, credentials: wholeValue }];
    });
  switch (config.type) {
    case 'stdio':
      return [...(config.args ?? []).map(argField), ...mapFields('env', config.env, byFieldName)];
    case 'http':
    case 'sse':
    case 'websocket':
      return [
        { label: 'url', text: config.url, credentials: urlCredentials },
        ...mapFields('headers', config.headers, headerCredentials),
      ];
    case 'module':
      return [];
    default:
      return [
        ...(config.apiKey === undefined ? [] : [{ label: 'apiKey', text: config.apiKey, credentials: wholeValue }]),
        ...(config.baseUrl === undefined
          ? []
          : [{ label: 'baseUrl', text: config.baseUrl, credentials: urlCredentials }]),
        ...mapFields('headers', config.headers, headerCredentials),
      ];
  }
};

/** The names of all variables in these fields, each once. */
export const listVariables = (config: ConfigEntry): readonly string[] => [
  ...new Set(configFields(config).flatMap(({ text }) => findPlaceholders(text).map(({ name }) => name))),
];

/** The names of variables that have no default in at least one place. */
export const requiredVariables = (config: ConfigEntry): readonly string[] => [
  ...new Set(
    configFields(config).flatMap(({ text }) =>
      findPlaceholders(text).flatMap(({ name, fallback }) => (fallback === null ? [name] : [])),
    ),
  ),
];

type Credentials = ConfigField['credentials'];

const credentialName = /auth|cookie|credential|key|passw|secret|token/iu;

const mapFields = (
  block: string,
  values: Readonly<Record<string, string>> | undefined,
  credentialsFor: (name: string) => Credentials,
): readonly ConfigField[] =>
  Object.entries(values ?? {}).map(([name, text]) => ({
    label: `${block}.${name}`,
    text,
    credentials: credentialsFor(name),
  }));

const wholeValue: Credentials = (literal) => [literal];

const noCredentials: Credentials = () => [];

const byFieldName = (name: string): Credentials => (credentialName.test(name) ? wholeValue : noCredentials);

/** The whole value, and its words without the scheme (`Bearer …`) and without the names of cookies, because those appear separately. */
const headerCredentials = (name: string): Credentials =>
  credentialName.test(name)
    ? (literal) => {
        const words = literal.split(/[\s;,]+/u);
        const values = words.length > 1 && !words[0]!.includes('=') ? words.slice(1) : words;
        return [literal, ...values, ...values.map((word) => word.slice(word.indexOf('=') + 1))];
      }
    : noCredentials;

/** A password before the host, and query parameters named like credentials. */
const urlCredentials: Credentials = (literal) => [
  ...[...literal.matchAll(/^[^/?#]*\/\/[^/?#@]*:([^/?#@]*)@/gu)].map((match) => match[1]!),
  ...[...literal.matchAll(/[?&]([^=&#]*)=([^&#]*)/gu)].flatMap(([, name, value]) =>
    credentialName.test(name!) ? [value!] : [],
  ),
];

/** `--api-key=…`, or what follows `--api-key`. */
const argField = (text: string, index: number, args: readonly string[]): ConfigField => {
  const flag = /^--?[\w-]+/u.exec(args[index - 1] ?? '');
  const follows = flag !== null && flag[0] === args[index - 1] && credentialName.test(flag[0]) && !text.startsWith('-');
  return { label: `args.${index}`, text, credentials: follows ? wholeValue : flagCredentials };
};

const flagCredentials: Credentials = (literal) => {
  const [, name, value] = /^(--?[\w-]+)=(.*)$/su.exec(literal) ?? [];
  return name !== undefined && credentialName.test(name) ? [value!] : urlCredentials(literal);
};

// `${VAR}` and `${VAR:-default}` in the operator's config; `$${` stands for a literal `${`. Filled-in values are not expanded
// again.

type Placeholder = { readonly name: string; readonly fallback: string | null };

const pattern = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/gu;

export const findPlaceholders = (text: string): readonly Placeholder[] =>
  [...text.matchAll(pattern)].flatMap(([, name, fallback]) =>
    name === undefined ? [] : [{ name, fallback: fallback ?? null }],
  );

/** A variable without a value and without a default becomes empty: callers check for missing variables first. */
export const fillText = (text: string, overlay: Overlay): string =>
  text.replaceAll(pattern, (_, name: string | undefined, fallback: string | undefined) =>
    name === undefined ? '${' : (placeholderValue(overlay, name) ?? fallback ?? ''),
  );

export const placeholderValue = (overlay: Overlay, name: string): string | undefined =>
  Object.hasOwn(overlay, name) ? overlay[name] : undefined;

// The shapes of the entries in an `.ai-agent.json`.
import { boolean, jsonObject, listOf, mapOf, object, oneOf, pattern, string, whole, withRules } from '#base/shapes';
import type { Shape, ShapeFields } from '#base/shapes';
import { agentNameShape, priceShape, spawnCapsShape, vendorList } from '#contracts';
import type { ModelFacts, ProviderConfig, ServerConfig } from '#contracts';

/** A rule about a text, as a sentence. */
const textRule = (shape: Shape<string>, sentence: string, fits: (text: string) => boolean): Shape<string> =>
  withRules(shape, { find: (written: string) => (fits(written) ? null : { text: sentence }) });

const placeholder = /\$\$\{|\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/gu;

/** May contain `${VAR}`. */
const expandable = textRule(
  string(),
  '`${` must be part of `${VAR}` or `${VAR:-default}`; write `$${` for a literal `${`.',
  (written) => !written.replaceAll(placeholder, ' ').includes('${'),
);

const notEmpty = pattern('[^]', 'a string that is not empty');
const notExpanded = 'Variables are not expanded here; write the value itself.';
const literalText = textRule(notEmpty, notExpanded, (written) => !written.includes('${'));

const urlWith = (...schemes: readonly string[]): Shape<string> =>
  textRule(
    expandable,
    `Expected a URL that starts with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}.`,
    (written) => written.includes('${') || (URL.canParse(written) && schemes.includes(new URL(written).protocol)),
  );

const httpUrl = urlWith('http:', 'https:');

const headers = mapOf(
  textRule(expandable, 'A header value must be a single line.', (written) => !/[\r\n\0]/u.test(written)),
  pattern("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", 'a valid header name'),
);

const variableName = pattern('^[A-Za-z_][A-Za-z0-9_]*$', 'a variable name: letters, digits and _');

const count = whole(1);

const modelFacts: Shape<ModelFacts> = object(
  {},
  { price: priceShape, contextTokens: count, maxOutputTokens: count, structuredOutput: boolean() },
);

const models = { models: mapOf(modelFacts) };
const vendorKeys = { ...models, apiKey: expandable, headers };

const vendorShape = ({ type, baseUrl, apis }: (typeof vendorList)[number]): Shape<ProviderConfig> => {
  const optional = { ...vendorKeys, ...(apis === undefined ? {} : { api: oneOf(...apis) }) };
  return baseUrl === undefined
    ? object({ type: oneOf(type), baseUrl: httpUrl }, optional)
    : object({ type: oneOf(type) }, { baseUrl: httpUrl, ...optional });
};

/** By type, so that a key of another type is refused. */
export const providerShapes: Readonly<Record<string, Shape<ProviderConfig>>> = {
  ...Object.fromEntries(vendorList.map((vendor) => [vendor.type, vendorShape(vendor)])),
  rehearsal: object({ type: oneOf('rehearsal') }, { ...models, script: literalText }),
};

const commonKeys = {
  enabled: boolean(),
  trusted: boolean(),
  untrustedText: boolean(),
  tools: listOf(notEmpty),
  connectTimeoutMs: count,
};

const environment = mapOf(
  textRule(expandable, 'A variable cannot contain a NUL character.', (written) => !written.includes('\0')),
  pattern('^[^=\\0]+$', 'a valid variable name'),
);

export const serverShapes: Readonly<Record<ServerConfig['type'], Shape<ServerConfig>>> = {
  stdio: object(
    { type: oneOf('stdio'), command: literalText },
    { args: listOf(expandable), env: environment, cwd: literalText, ...commonKeys },
  ),
  http: object({ type: oneOf('http'), url: httpUrl }, { headers, ...commonKeys }),
  sse: object({ type: oneOf('sse'), url: httpUrl }, { headers, ...commonKeys }),
  websocket: object({ type: oneOf('websocket'), url: urlWith('ws:', 'wss:') }, { headers, ...commonKeys }),
  module: object({ type: oneOf('module'), module: literalText }, commonKeys),
};

/** The parts of a file besides providers and servers. */
export const partShapes = {
  defaults: jsonObject('an object'),
  agents: listOf(notEmpty),
  defaultAgent: { ...agentNameShape, expected: 'an agent name, which is its file name without `.ai`' },
  env: mapOf(
    textRule(string(), notExpanded, (written) => !/\$\{|\0/u.test(written)),
    variableName,
  ),
  plain: listOf(variableName),
  spawns: spawnCapsShape,
} as const satisfies ShapeFields;

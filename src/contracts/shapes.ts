// Shapes of what people and clients write in more than one place: in files, in config, in code, in requests. Each is described here
// once, and the compiler holds the types of the contracts against them.
import {
  about,
  amount,
  cap,
  listOf,
  mapOf,
  object,
  oneOf,
  pattern,
  string,
  valueOf,
  whole,
  withRules,
} from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { SpawnCaps } from './agent-file.ts';
import type { OutputFormat } from './agent.ts';
import type { Budget } from './amounts.ts';
import type { DialogMessage } from './dialog-message.ts';
import type { KeepRules } from './keep-rules.ts';
import type { Price } from './model.ts';

export const nameExpected = 'letters, digits, dot, dash and underscore, at most 64 characters';

/** The name of an agent. */
export const agentNameShape = pattern('^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', nameExpected, '\\.\\.');

/** A rule about a text, as a sentence. */
export const textRule = (shape: Shape<string>, sentence: string, fits: (text: string) => boolean): Shape<string> =>
  withRules(shape, { find: (written: string) => (fits(written) ? null : { text: sentence }) });

const placeholder = /\$\$\{|\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/gu;

/** A text of the config that may contain `${VAR}`. */
export const expandableText = textRule(
  string(),
  '`${` must be part of `${VAR}` or `${VAR:-default}`; write `$${` for a literal `${`.',
  (written) => !written.replaceAll(placeholder, ' ').includes('${'),
);

export const budgetUnits = {
  tokens: about(cap(whole()), 'Input and output tokens.', { example: 200_000, otherwise: 'no limit' }),
  usd: about(cap(amount()), 'US dollars; every model must have a price.', { example: 0.5, otherwise: 'no limit' }),
  spawns: about(cap(whole()), 'Number of sub-agents started.', { example: 10, otherwise: 'no limit' }),
  memory: about(
    cap(whole()),
    'Memory in bytes of the agent and all its sub-agents: windows, mailboxes, journals, outputs.',
    { example: 50_000_000, otherwise: 'no limit' },
  ),
  ms: about(cap(whole()), 'Time in milliseconds.', { example: 600_000, otherwise: 'no limit' }),
};

export const budgetShape: Shape<Budget> = object({}, budgetUnits);

const usd = amount();
const rates = { cacheRead: usd, cacheWrite: usd };

export const priceShape: Shape<Price> = object(
  { input: usd, output: usd },
  { ...rates, tiers: listOf(object({ input: usd, output: usd, aboveInputTokens: whole(1) }, rates)) },
);

export const spawnCapsShape: Shape<Partial<SpawnCaps>> = object(
  {},
  { children: whole(), perMinute: whole(), depth: whole() },
);

/** What stays must be of some use: a server would take away what its clients have not read yet. */
const [keepDaysMin, keepRunsMin, keepBytesMin] = [0.01, 1, 1];

const keepLimits = (days: number, runs: number, bytes: number) => ({
  days: about(amount(days), 'Days since a run, or the newest turn of its conversation, has ended.'),
  runs: about(whole(runs), 'How many runs are kept.'),
  bytes: about(whole(bytes), 'How many bytes of records are kept.'),
});

const rulesOf = (fields: ReturnType<typeof keepLimits>): Shape<KeepRules> =>
  object({}, { ...fields, agents: mapOf(object({}, fields), agentNameShape) });

/** For what is applied again and again. */
export const keepRulesShape: Shape<KeepRules> = rulesOf(keepLimits(keepDaysMin, keepRunsMin, keepBytesMin));

/** For what somebody does once: 0 keeps nothing. */
export const expiryRulesShape: Shape<KeepRules> = rulesOf(keepLimits(0, 0, 0));

export const answerFormatShape: Shape<OutputFormat['format']> = oneOf('text', 'markdown', 'json');

const dialogFields = { by: oneOf('person', 'agent'), text: { is: 'text', expected: 'a string' } } as const;

/** In code. Attachments are checked where they are read. */
export const dialogMessageShape: Shape<DialogMessage> = object(dialogFields, {
  attachments: valueOf<NonNullable<DialogMessage['attachments']>>('a list of files', Array.isArray),
});

/** In requests: a file is sent in base64, and nothing that is stored can be named. */
export const attachmentShape = object(
  {
    mediaType: about(string(), 'Such as `image/png`.'),
    data: about(string(), 'The bytes in base64, or a `data:` URL. Other URLs are not fetched.'),
  },
  { name: string() },
);

export const sentMessageShape = object(dialogFields, { attachments: listOf(attachmentShape) });

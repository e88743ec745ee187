// API tokens: who may use a server, and what for.
import { about, amount, boolean, listOf, object, oneOf, pattern, string, whole, withRules } from '#base/shapes';
import type { Of, RuleBreach, Shape } from '#base/shapes';
import type { Budget } from './amounts.ts';
import { budgetShape } from './shapes.ts';

const nameExpected = 'at most 40 letters, digits, dots, dashes or underscores';

/**
 * How much of a run somebody is shown. `answers`: what happened, and failures by code, without what the outside said about them.
 * `causes`: also what each failure said, at every depth (a tool's error text, a provider's message). `contents`: also what
 * models were shown, thought and wrote, what tools returned, and what crossed. It decides what is read for somebody, never
 * what is recorded or reaches a cell. What happened includes the goals, the arguments and the outputs of agents.
 */
export type Sees = (typeof seesLevels)[number];

export const seesLevels = ['answers', 'causes', 'contents'] as const;

export const seesShape: Shape<Sees> = oneOf(...seesLevels);

export const seesCauses = (sees: Sees | undefined): boolean => sees === 'causes' || sees === 'contents';

/** The caller that started this process and uses MCP over standard input. */
export const stdioCaller = 'stdio';

/** The caller that uses the studio of its own workspace. */
export const studioCaller = 'studio';

/** Names that no token may have, and what each stands for. */
const reservedNames: ReadonlyMap<string, string> = new Map([
  [stdioCaller, 'MCP over standard input'],
  [studioCaller, '`cloister studio`'],
  ['operator', 'whoever owns the workspace, in records of who answered'],
  ['retention', 'the limits of `keep`, in records of deletions'],
]);

const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const tokenNamePattern = '[A-Za-z0-9][A-Za-z0-9._-]{0,39}';

/** The name of a person in Slack: `slack:<team>/<user>`. No token has such a name. */
export const slackCallerPattern = 'slack:([TE][A-Z0-9]{1,20})/([UW][A-Z0-9]{1,20})';

/** The name of somebody who answers: of a token, one of those that no token may have, or a person in Slack. */
export const answererNameShape: Shape<string> = pattern(
  `^(?:${tokenNamePattern}|${slackCallerPattern})$`,
  `${nameExpected}; or a person in Slack, such as slack:T1/U1`,
);

export const tokenNameShape: Shape<string> = withRules(pattern(`^${tokenNamePattern}$`, nameExpected), {
  find: (name: string) => {
    const meaning = reservedNames.get(name);
    return meaning === undefined ? null : { text: `"${name}" is reserved for ${meaning}.` };
  },
  schema: { not: { enum: [...reservedNames.keys()] } },
});

const allowanceShape = withRules(object({ per: oneOf('hour', 'day', 'month') }, { tokens: whole(), usd: amount() }), {
  find: ({ tokens, usd }: { readonly tokens?: number; readonly usd?: number }) =>
    tokens === undefined && usd === undefined
      ? { text: 'No limit is set. Set tokens or usd, or omit the allowance.' }
      : null,
  schema: { anyOf: [{ required: ['tokens'] }, { required: ['usd'] }] },
});

/** What each request, and all of them together, may cost and show. */
export const personLimits = {
  budget: about(budgetShape, 'The maximum for one request.'),
  allowance: about(allowanceShape, 'The maximum for all requests of a period together.'),
  requestsPerMinute: whole(1),
  running: about(whole(1), 'How many runs may run at a time.'),
  sees: about(
    seesShape,
    'How much of the own runs is shown: `causes` adds what failures said, `contents` what models and tools said.',
    { default: 'answers' },
  ),
};

/** A request reserves its budget, so an allowance needs one. */
export const withBudgetForAllowance = <S extends Shape>(shape: S): S => withRules(shape, { find: budgetForAllowance });

const { sees: seenByHolder, ...holderLimits } = personLimits;

/** One entry of a token file. In code, `expiresAt` in epoch milliseconds stands for `expires`. */
export const tokenShape = withRules(
  withBudgetForAllowance(
    object(
      {
        name: tokenNameShape,
        sha256: withRules(
          about(
            pattern('^[0-9a-f]{64}$', '64 hex digits, as printed by `cloister token`'),
            'SHA-256 of the token, in hex.',
          ),
          {
            find: (hash: string) =>
              hash === emptySha256
                ? { text: 'This is the hash of an empty string. Create a token with `cloister token`.' }
                : null,
            schema: { not: { const: emptySha256 } },
          },
        ),
      },
      {
        agents: about(listOf(string()), 'Agents that the token may use.', { otherwise: 'all of them' }),
        ...holderLimits,
        answers: about(
          listOf(pattern('^(?:\\*|[A-Za-z0-9][A-Za-z0-9._-]{0,63})$', 'the name of an agent, or *', '\\.\\.'), 1),
          'Agents whose questions the holder may answer in runs of other callers, sub-agents too; `*` for all agents.',
          { otherwise: 'none: only those of its own runs' },
        ),
        may: about(
          listOf(oneOf('watch')),
          'What the holder may do. `watch`: read runs, and start, send and stop nothing.',
          { otherwise: 'everything' },
        ),
        sees: seenByHolder,
        operator: about(
          boolean(),
          'Its holder runs the server: reads, steers and answers for all runs of the workspace, sees `contents`, and is told about stalls of the process and about all tokens.',
        ),
        expires: about(
          {
            ...pattern(
              '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2})$',
              'a time such as 2027-01-31T00:00:00Z',
            ),
            into: ['expiresAt'],
            convert: { to: (time: string) => nonNaN(Date.parse(time)), stored: whole() },
          },
          'When the token stops working.',
        ),
      },
    ),
  ),
  { find: watcherProblem, schema: { properties: { may: { minItems: 1, maxItems: 1 } } } },
);

/** The entry, as it is read. */
export type TokenEntry = Omit<Of<typeof tokenShape>, 'expires'> & {
  /** Epoch milliseconds from which the token is refused. */
  readonly expiresAt?: number;
};

/** How much the holder of a token is shown. */
export const tokenSees = ({ operator, sees }: Pick<TokenEntry, 'operator' | 'sees'>): Sees =>
  operator === true ? 'contents' : (sees ?? 'answers');

/**
 * The name of a token's holder, by which callers are distinguished. A token that may only watch can have the name of another one, whose runs
 * it then sees; it is a caller of its own nevertheless, with its own rate and connections.
 */
export const callerNameOf = ({ name, may }: Pick<TokenEntry, 'name' | 'may'>): string =>
  may === undefined ? name : `${name} (watch)`;

export type AllowanceSpec = NonNullable<TokenEntry['allowance']>;

type Caps = { readonly budget?: Budget; readonly allowance?: Of<typeof allowanceShape> };

const nonNaN = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value);

function budgetForAllowance({ budget, allowance }: Caps): RuleBreach | null {
  for (const unit of ['tokens', 'usd'] as const)
    if (allowance?.[unit] !== undefined && budget?.[unit] === undefined)
      return {
        at: ['budget', unit],
        text: `Required with an allowance in ${unit}: each request reserves this amount.`,
      };
  return null;
}

type RunLimits = { readonly may?: readonly string[] } & Caps & {
    readonly agents?: readonly string[];
    readonly running?: number;
    readonly answers?: readonly string[];
  };

function watcherProblem({ may, ...limits }: RunLimits): RuleBreach | null {
  if (may !== undefined && may.length !== 1)
    return { at: ['may'], text: 'Name what the token may do: ["watch"]; or omit it to allow everything.' };
  const field = (['agents', 'budget', 'allowance', 'running', 'answers'] as const).find(
    (one) => limits[one] !== undefined,
  );
  if (may === undefined || field === undefined) return null;
  if (field === 'answers')
    return { at: [field], text: 'The token may only watch, so it answers no questions. Omit it.' };
  return { at: [field], text: 'It has no effect: the token may only watch, so it starts no runs. Omit it.' };
}

// Parses a run request from a query: GET /v1/:agent?q=…
import { CloisterError } from '#base';
import type { Agent, Budget } from '#contracts';
import { refuseUnknown } from './unknown-name.ts';
import { answerFormats, parseAnswerFormat, parseInputText, parseJsonObject } from './parsed-run-request.ts';
import type { ParsedRunRequest } from './parsed-run-request.ts';

export const queryParameterNames = [
  'q',
  'format',
  'schema',
  'conversation',
  'budget_tokens',
  'budget_usd',
  'budget_ms',
  'stream',
  'details',
] as const;

export const parseQuery = (query: URLSearchParams, agent: Agent): ParsedRunRequest => {
  const parameters = new Query(query, queryParameterNames);
  const q = parameters.text('q');
  if (q === undefined) throw invalid('q', 'the input for the agent', undefined);
  const schema = parameters.text('schema');
  const conversation = parameters.text('conversation');
  const budget = parseQueryBudget(parameters);
  return {
    request: {
      agent: agent.name,
      input: parseInputText(q, 'q', agent),
      ...parseAnswerFormat(
        parameters.oneOf('format', answerFormats),
        schema === undefined ? undefined : parseJsonObject(schema, 'schema'),
      ),
      ...(conversation === undefined ? {} : { conversation }),
      ...(budget === undefined ? {} : { budget }),
    },
    stream: parameters.flag('stream') ?? null,
    waits: true,
    details: parameters.flag('details') ?? false,
  };
};

const parseQueryBudget = (query: Query): Budget | undefined => {
  const [tokens, usd, ms] = [query.number('budget_tokens'), query.number('budget_usd'), query.number('budget_ms')];
  if (tokens === undefined && usd === undefined && ms === undefined) return undefined;
  return {
    ...(tokens === undefined ? {} : { tokens }),
    ...(usd === undefined ? {} : { usd }),
    ...(ms === undefined ? {} : { ms }),
  };
};

export const refuseQuery = (query: URLSearchParams): void =>
  refuseUnknown(query.keys(), { what: 'parameter', known: [] });

/** Reads query parameters. Refuses unknown and repeated ones; every error names the parameter. */
export class Query {
  readonly #query: URLSearchParams;

  constructor(query: URLSearchParams, known: readonly string[]) {
    refuseUnknown(query.keys(), { what: 'parameter', known });
    for (const name of known)
      if (query.getAll(name).length > 1) throw new CloisterError('request_invalid', `${name}: given more than once.`);
    this.#query = query;
  }

  text(name: string): string | undefined {
    return this.#query.get(name) ?? undefined;
  }

  flag(name: string): boolean | undefined {
    const found = this.oneOf(name, ['true', 'false']);
    return found === undefined ? undefined : found === 'true';
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw invalid(name, `one of ${choices.join(', ')}`, value);
    return found;
  }

  /** At least 0, in plain digits. */
  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = /^\d{1,15}(?:\.\d{1,15})?$/u.test(value) ? Number(value) : NaN;
    if (!Number.isFinite(number)) throw invalid(name, 'a number of at least 0', value);
    return number;
  }

  wholeNumber(name: string, { least, most }: { readonly least: number; readonly most: number }): number | undefined {
    const value = this.number(name);
    if (value !== undefined && (!Number.isInteger(value) || value < least || value > most))
      throw invalid(name, `a whole number from ${least} to ${most}`, this.text(name));
    return value;
  }
}

const invalid = (name: string, expected: string, value: string | undefined): CloisterError =>
  new CloisterError(
    'request_invalid',
    `${name}: expected ${expected}; got ${value === undefined ? 'nothing' : JSON.stringify(value.slice(0, 40))}.`,
  );

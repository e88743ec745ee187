// Checks the options of `openCloister`.
import { CloisterError } from '#base';
import { amount, listOf, mapOf, object, oneOf, orNull, string, valueOf, whole } from '#base/shapes';
import type { Shape } from '#base/shapes';
import { checkShape, modelShape } from '#core/orchestration';
import type { CloisterOptions } from './cloister-options.ts';
import { retentionDefault } from '#app/conversations';

/** Checked where it is used. */
const any = valueOf<never>('a value', () => true);

const most = amount(1);

const optionsShape = {
  ...object({ agents: { ...listOf(any), expected: 'a list of agents' } }, {
    workspace: string(),
    store: oneOf('memory'),
    models: listOf(modelShape),
    concurrency: object({}, { models: whole(1), tools: whole(1) }),
    config: string(),
    cwd: string(),
    env: mapOf(any),
    preconnect: any,
    offline: any,
    clock: any,
    ids: any,
    stallClock: any,
    defaultAgent: { ...orNull(string()), expected: 'the name of an agent' },
    retention: object({}, Object.fromEntries(Object.keys(retentionDefault).map((name) => [name, most]))),
    autosaveMs: most,
    parallel: whole(1, 10_000),
  } satisfies Record<keyof Omit<CloisterOptions, 'agents'>, Shape>),
  expected: 'an object of options',
};

/** Throws `options_invalid`. */
export const checkCloisterOptions = (options: CloisterOptions): void =>
  checkShape(optionsShape, options, (text) => new CloisterError('options_invalid', text), 'openCloister');

// What the person whom a cell asks says to it, and when: private to the cell, like its tools' results.
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Question, QuestionAnswer, Validate } from '#contracts';
import { Rng } from './rng.ts';
import { validSample } from './sample-schema.ts';

type DrawnAnswer = { readonly delayMs: number; readonly answer: QuestionAnswer };

/**
 * `salt`: of the cell. `schema`: what changed arguments must fit. Nothing is to be remembered for the run: that is how a person
 * answers other cells too, on purpose.
 */
export const drawPersonAnswer = (
  { tool, args, argsHash, why }: Question,
  salt: string,
  { schema, validate }: { readonly schema: JsonObject | undefined; readonly validate: Validate },
): DrawnAnswer => {
  const key = `${salt} person ${tool} ${JSON.stringify(args)}`;
  const rng = new Rng(key);
  const delayMs = rng.percent(30) ? 0 : rng.percent(80) ? 1 + rng.below(8) : 1_000 + rng.below(20_000);
  const common = { sha256: argsHash };
  const kind = rng.below(10);
  if (why !== 'tool' || kind < 3) return { delayMs, answer: { ...common, allow: false, reason: rng.words() } };
  if (kind === 3) return { delayMs, answer: { ...common, allow: false } };
  const changed = kind < 7 && schema !== undefined ? validSample(schema, `${key} changed`, validate) : undefined;
  return {
    delayMs,
    answer: {
      ...common,
      allow: true,
      ...(isObject(changed) ? { args: changed } : {}),
      ...(kind === 9 ? { reason: rng.words() } : {}),
    },
  };
};

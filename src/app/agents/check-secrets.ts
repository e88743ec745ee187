// Warnings about keys that cannot be redacted everywhere.
import type { Warning } from '#contracts';
import type { Registry } from './registry.ts';

export const secretWarnings = ({ resolver }: Registry): readonly Warning[] =>
  [...Map.groupBy(resolver.weakSecrets, ({ agent }) => agent)].flatMap(([agent, own], index, all) => {
    const weak = [...new Set(own.flatMap((one) => one.weak))];
    // That is so for every agent: the first one stands for all.
    const before = new Set(all.slice(0, index).flatMap(([, others]) => others.flatMap((one) => one.tooShort)));
    const tooShort = [...new Set(own.flatMap((one) => one.tooShort))].filter((name) => !before.has(name));
    const where = agent === null ? 'not redacted' : `redacted only in the cells of \`${agent}\``;
    return [
      ...secretWarning('secret-short', agent ?? 'slack', tooShort, 'too short to be redacted'),
      ...secretWarning('secret-weak', agent ?? 'slack', weak, `easy to guess, so ${where}`),
    ];
  });

const secretWarning = (
  code: 'secret-short' | 'secret-weak',
  agent: string,
  names: readonly string[],
  what: string,
): readonly Warning[] =>
  names.length === 0 ? [] : [{ code, agent, message: `${names.join(', ')}: ${what}; ${strongAdvice}` }];

const strongAdvice =
  '32 random letters and digits are long enough. List what is not secret under `plain` in .ai-agent.json.';

import type { SeedReport } from './simulate.ts';

const linesMax = 40;
const charsMax = 600;

/** Describes a failed seed: what was expected and seen, what happened last, and how to reproduce it. */
export const failureText = ({ seed, problems, last }: SeedReport): string =>
  [
    `Seed ${seed} failed.`,
    ...problems
      .slice(0, 5)
      .flatMap(({ judge, expected, seen }) => [
        `  ${judge}`,
        `    expected: ${cut(expected)}`,
        `    seen:     ${cut(seen)}`,
      ]),
    ...(problems.length > 5 ? [`  … and ${problems.length - 5} more`] : []),
    ...(last.length === 0 ? [] : ['  The last events:']),
    ...last.slice(-linesMax).map((line) => `    ${cut(line)}`),
    `  Reproduce: npm run sim -- --seed ${seed}`,
  ].join('\n');

const cut = (text: string): string => (text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`);

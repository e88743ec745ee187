// The shapes of marks for approval, as the operator writes them in config and code.
import { about, listOf, mapOf, object, oneOf, pattern, whole, withRules } from '#base/shapes';
import type { RuleBreach, Shape } from '#base/shapes';
import type { ApprovalRule } from './approval.ts';
import { answererNameShape } from './token.ts';

export const markNamePattern = '^[A-Za-z0-9_.-]{1,64}(?:/[^\\s/]{1,128})?$';

type Quorum = { readonly by?: readonly string[]; readonly need?: number };

const approvalRuleShape: Shape<ApprovalRule> = withRules(
  object(
    {},
    {
      by: about(listOf(answererNameShape, 1), 'Who may answer: names of tokens, or of people.', {
        otherwise: 'the caller of the run',
      }),
      need: about(whole(1), 'How many of them must allow it.', { default: 1 }),
      not: about(oneOf('asker'), '`asker`: whoever requested the run may not answer.'),
    },
  ),
  { find: quorumProblem },
);

/** Rules by tool. */
export const approvalRulesShape: Shape<Readonly<Record<string, ApprovalRule>>> = mapOf(
  approvalRuleShape,
  pattern(markNamePattern, 'the name of a tool, `<server>` or `<server>/<tool>`'),
);

function quorumProblem({ by, need = 1 }: Quorum): RuleBreach | null {
  const names = new Set(by).size;
  if (by === undefined || need <= names) return null;
  return { at: ['need'], text: `Expected at most ${names}, the number of names in \`by\`.` };
}

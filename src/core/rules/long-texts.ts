// Which crossed texts a part shows only the beginning of, and the name by which the cell reads the rest of each.
import type { RuleName } from '#contracts';
import { exceedsPreview, readEnvelope } from './child-result.ts';
import { sourceCall } from './dialog.ts';
import { pairAnswers, requestedAgents } from './gather.ts';
import { mailBody, mailOutputName } from './mail.ts';
import { bytesForEach, outputName } from './preview.ts';
import { ruleFamily } from './recorded-versions.ts';
import type { ResolvedSource } from './rule.ts';

type LongText = { readonly name: string; readonly text: string };

/** The sources and numbers are those of the segment. */
export const longTexts = (
  rule: RuleName,
  sources: readonly ResolvedSource[],
  numbers: readonly number[],
): readonly LongText[] => {
  const bytesMax = numbers[0] ?? 0;
  const texts = namedTexts(ruleFamily(rule), sources, numbers.slice(1));
  return texts.filter(({ text }) => exceedsPreview(text, bytesForEach(bytesMax, texts.length)));
};

/** All texts that the rule names, in order; an answer that was refused is empty. */
const namedTexts = (
  family: string,
  sources: readonly ResolvedSource[],
  numbers: readonly number[],
): readonly LongText[] => {
  const [first, , ...rest] = sources;
  switch (family) {
    case 'mail':
      return first === undefined ? [] : [{ name: mailOutputName(numbers[0] ?? 1), text: mailBody(first) }];
    case 'child-result':
      return rest.map((crossing) => namedText(sourceCall(first).name, numbers[0], readEnvelope(crossing).output));
    case 'received':
      return rest.map((crossing, index) => namedText(sourceCall(first).name, numbers[index], mailBody(crossing)));
    case 'gather': {
      const agents = requestedAgents(sourceCall(first).input);
      return pairAnswers(sources.slice(1)).map(({ crossing }, index) =>
        namedText(agents[index]!, numbers[index], crossing === undefined ? '' : readEnvelope(crossing).output),
      );
    }
    default:
      return [];
  }
};

const namedText = (tool: string, nth = 1, text: string): LongText => ({ name: outputName(tool, nth, 'txt'), text });

// The keys of the frontmatter as a list, for tests that look at each of them.
import type { Shape } from '#base/shapes';
import { frontmatterShape } from '#core/registry';

export type Field = Shape & { readonly key: string };

const listOfFields = (fields: Readonly<Record<string, Shape>>): readonly Field[] =>
  Object.entries(fields).map(([key, shape]) => ({ ...shape, key }));

export const frontmatterFields: readonly Field[] = listOfFields(frontmatterShape.fields);

/** The keys of a block, also of one that may be written in another way. */
export const innerFields = (field: Shape): readonly Field[] => {
  const block = field.is === 'either' ? field.of.find((one) => one.is === 'object') : field;
  return block?.is === 'object' ? listOfFields(block.fields) : [];
};

// Merges the operations of two routes that share a path and differ by a header: OpenAPI allows only one operation there.
import { canonicalJson } from '#base';
import type { Json, JsonObject } from '#base';

export const mergeOperations = (one: JsonObject, other: JsonObject): JsonObject => ({
  ...other,
  ...one,
  ...mergeTexts('summary', one, other, ' / '),
  ...mergeTexts('description', one, other, '\n\n'),
  ...mergeLists('tags', one, other),
  ...mergeLists('parameters', one, other),
  ...(one['requestBody'] === undefined || other['requestBody'] === undefined
    ? {}
    : { requestBody: mergeContents(asObject(one['requestBody']), asObject(other['requestBody'])) }),
  responses: mergeEach(asObject(one['responses']), asObject(other['responses']), mergeContents),
});

type Merge = (one: JsonObject, other: JsonObject) => JsonObject;

/** Merges two bodies or two responses. Other fields come from the first one. */
const mergeContents: Merge = (one, other) => {
  if (same(one, other) || one['$ref'] !== undefined || other['$ref'] !== undefined) return one;
  const content = mergeEach(asObject(one['content']), asObject(other['content']), mergeMedia);
  return {
    ...other,
    ...one,
    ...mergeTexts('description', one, other, ' / '),
    ...(isEmpty(content) ? {} : { content }),
  };
};

const mergeMedia: Merge = (one, other) => {
  const schemas = [...choices(one), ...choices(other)];
  const different = schemas.filter((schema, index) => schemas.findIndex((each) => same(each, schema)) === index);
  const { example, ...rest } = one;
  const examples = [example, other['example']].filter((each) => each !== undefined);
  return {
    ...rest,
    schema: different.length === 1 ? different[0] : { anyOf: different },
    ...(examples.length === 0
      ? {}
      : { examples: Object.fromEntries(examples.map((value, index) => [`form${index + 1}`, { value }])) }),
  };
};

/** The schemas of one media type, which may already be merged. */
const choices = ({ schema }: JsonObject): readonly JsonObject[] => {
  const of = asObject(schema);
  const any = of['anyOf'];
  return Array.isArray(any) && Object.keys(of).length === 1 ? (any as readonly JsonObject[]) : [of];
};

const mergeEach = (one: JsonObject, other: JsonObject, merge: Merge): JsonObject => {
  const entries = Object.entries(other).map(([name, value]): [string, Json | undefined] => [
    name,
    one[name] === undefined ? value : merge(asObject(one[name]), asObject(value)),
  ]);
  return { ...one, ...Object.fromEntries(entries) };
};

/** Joins the texts of both, if they differ. */
const mergeTexts = (name: string, one: JsonObject, other: JsonObject, by: string): JsonObject => {
  const texts = [...new Set([one[name], other[name]].filter((text) => typeof text === 'string'))];
  return texts.length === 0 ? {} : { [name]: texts.join(by) };
};

/** Joins the arrays of both, without duplicates. A parameter is identified by its location and name, anything else by its value. */
const mergeLists = (name: string, one: JsonObject, other: JsonObject): JsonObject => {
  const items = [one[name], other[name]].flatMap((list) => (Array.isArray(list) ? (list as readonly Json[]) : []));
  const keys = items.map(keyOf);
  const first = items.filter((_item, index) => keys.indexOf(keys[index]!) === index);
  return first.length === 0 ? {} : { [name]: first };
};

const keyOf = (item: Json): string => {
  const { in: where, name } = asObject(item);
  return where === undefined ? canonicalJson(item) : canonicalJson([where, name ?? null]);
};

const same = (one: Json, other: Json): boolean => canonicalJson(one) === canonicalJson(other);

const isEmpty = (value: JsonObject): boolean => Object.keys(value).length === 0;

const asObject = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

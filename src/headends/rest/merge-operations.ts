// Two routes with one address, told apart by a header, are one operation to OpenAPI: it takes and gives what either does.
import { canonicalJson } from '#base';
import type { Json, JsonObject } from '#base';

export const mergeOperations = (one: JsonObject, other: JsonObject): JsonObject => ({
  ...other,
  ...one,
  ...joined('summary', one, other, ' / '),
  ...joined('description', one, other, '\n\n'),
  ...listed('tags', one, other),
  ...listed('parameters', one, other),
  ...(one['requestBody'] === undefined || other['requestBody'] === undefined
    ? {}
    : { requestBody: mergeContents(part(one['requestBody']), part(other['requestBody'])) }),
  responses: mergeEach(part(one['responses']), part(other['responses']), mergeContents),
});

type Merge = (one: JsonObject, other: JsonObject) => JsonObject;

/** What has content: a body, or a response. The words are the first one's. */
const mergeContents: Merge = (one, other) => {
  if (same(one, other) || one['$ref'] !== undefined || other['$ref'] !== undefined) return one;
  const content = mergeEach(part(one['content']), part(other['content']), mergeMedia);
  return { ...other, ...one, ...joined('description', one, other, ' / '), ...(isEmpty(content) ? {} : { content }) };
};

const mergeMedia: Merge = (one, other) => {
  const schemas = [...choices(one), ...choices(other)];
  const different = schemas.filter((schema, place) => schemas.findIndex((each) => same(each, schema)) === place);
  const { example, ...rest } = one;
  const examples = [example, other['example']].filter((each) => each !== undefined);
  return {
    ...rest,
    schema: different.length === 1 ? different[0] : { anyOf: different },
    ...(examples.length === 0
      ? {}
      : { examples: Object.fromEntries(examples.map((value, place) => [`form${place + 1}`, { value }])) }),
  };
};

/** The schemas that one media type has by now. */
const choices = ({ schema }: JsonObject): readonly JsonObject[] => {
  const of = part(schema);
  const any = of['anyOf'];
  return Array.isArray(any) && Object.keys(of).length === 1 ? (any as readonly JsonObject[]) : [of];
};

const mergeEach = (one: JsonObject, other: JsonObject, merge: Merge): JsonObject => {
  const entries = Object.entries(other).map(([name, value]): [string, Json | undefined] => [
    name,
    one[name] === undefined ? value : merge(part(one[name]), part(value)),
  ]);
  return { ...one, ...Object.fromEntries(entries) };
};

/** Texts of both, if they differ. */
const joined = (name: string, one: JsonObject, other: JsonObject, by: string): JsonObject => {
  const texts = [...new Set([one[name], other[name]].filter((text) => typeof text === 'string'))];
  return texts.length === 0 ? {} : { [name]: texts.join(by) };
};

/** Lists of both. A parameter is known by its place and name, anything else by itself. */
const listed = (name: string, one: JsonObject, other: JsonObject): JsonObject => {
  const items = [one[name], other[name]].flatMap((list) => (Array.isArray(list) ? (list as readonly Json[]) : []));
  const keys = items.map(keyOf);
  const first = items.filter((_item, place) => keys.indexOf(keys[place]!) === place);
  return first.length === 0 ? {} : { [name]: first };
};

const keyOf = (item: Json): string => {
  const { in: where, name } = part(item);
  return where === undefined ? canonicalJson(item) : canonicalJson([where, name ?? null]);
};

const same = (one: Json, other: Json): boolean => canonicalJson(one) === canonicalJson(other);

const isEmpty = (value: JsonObject): boolean => Object.keys(value).length === 0;

const part = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

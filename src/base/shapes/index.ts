export {
  about,
  amount,
  cap,
  either,
  boolean,
  joinWithOr,
  json,
  jsonObject,
  listOf,
  mapOf,
  named,
  object,
  oneOf,
  oneOrMore,
  openObject,
  orEmpty,
  orNull,
  pattern,
  storedShape,
  string,
  valueOf,
  whole,
  withRules,
  withShort,
  withSomeOf,
} from './shape.ts';
export type { ObjectForm, Of, RuleBreach, Shape, ShapeFields, ShapeNotes } from './shape.ts';
export { problemsIn, readShape, readWhole } from './read-shape.ts';
export type { ShapePath, ShapeProblem, ShapeReader } from './read-shape.ts';
export { jsonSchemaOf, namedSchemas } from './shape-schema.ts';
export { formatPath, problemText } from './problem-text.ts';
export { showValue } from './show-value.ts';
export { checkOptionType, checkOptions, checkShape, optionsShape, parseRunId } from './check-options.ts';
export type { OptionFields } from './check-options.ts';

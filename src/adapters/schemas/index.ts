export { schemaProblem } from './schema-problem.ts';
export { boundSchemaTime, validate } from './validate.ts';

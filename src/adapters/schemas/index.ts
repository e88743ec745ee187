export { schemaProblem, toolSchemaProblem, uncheckedPatterns } from './schema-problem.ts';
export { validate } from './validate.ts';

export { schemaProblem } from './schema-problem.ts';
export { validate } from './validate.ts';

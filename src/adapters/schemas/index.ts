export { schemaProblem } from './schema-problem.ts';
export { checkBriefly, validate } from './validate.ts';

export { activityOf, answerOf } from './answer.ts';
export type { Answer } from './answer.ts';
export { askedIn } from './dialog.ts';
export { Fields } from './fields.ts';

export { answerName, answerOf, endOf, heardIn } from './answer.ts';
export type { Answer, AnswerEnd } from './answer.ts';
export { beginOrGoOn, openResults, parseTool } from './client-tools.ts';
export { askedIn } from './dialog.ts';
export { Fields } from './fields.ts';
export { mayAllow } from './may-allow.ts';
export { servedAgent } from './served-agent.ts';

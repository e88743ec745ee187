export { openSlackHeadend } from './open-slack-headend.ts';

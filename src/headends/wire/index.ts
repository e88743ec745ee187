export { askedIn } from './dialog.ts';
export { Fields } from './fields.ts';

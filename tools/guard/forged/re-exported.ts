export { sealCrossing } from '../../../src/core/crossings/crossed.ts';

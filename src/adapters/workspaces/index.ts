export { jailedWorkspaces } from './jail.ts';
export { memoryWorkspaces } from './memory.ts';

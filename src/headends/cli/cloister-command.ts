// A command of ours, as a line to be pasted.
import { defaultWorkspace } from './request.ts';
import { shellWord } from './shell-word.ts';

/** `workspace`: how --workspace named it. */
export const cloisterCommand = (words: string, workspace: string): string =>
  `npx cloister ${words}${workspace === defaultWorkspace ? '' : ` --workspace ${shellWord(workspace)}`}`;

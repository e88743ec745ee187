// A cloister command as a line to paste.
import { defaultWorkspace } from './request.ts';
import { shellWord } from './shell-word.ts';

/** `workspace`: the value of --workspace. */
export const cloisterCommand = (words: string, workspace: string): string =>
  `npx cloister ${words}${workspace === defaultWorkspace ? '' : ` --workspace ${shellWord(workspace)}`}`;

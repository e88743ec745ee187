// Every planted leak and bug.
import { conversationLeaks } from '../isolation/planted-conversation-leaks.ts';
import { fileLeaks } from '../isolation/planted-file-leaks.ts';
import { leaks } from '../isolation/planted-leaks.ts';
import { askerLeaks, mailLeaks, spawnedLeaks, windowLeaks } from '../isolation/planted-mail-leaks.ts';
import { questionLeaks } from '../isolation/planted-question-leaks.ts';
import { serveLeaks } from '../isolation/planted-serve-leaks.ts';
import { slackLeaks } from '../isolation/planted-slack-leaks.ts';
import { teamLeaks } from '../isolation/planted-team-leaks.ts';
import { bugs } from '../sim/planted-bugs.ts';
import type { Edit } from './apply-edits.ts';

export type NamedPlant = { readonly name: string; readonly edits: readonly Edit[] };

export const allPlants: readonly NamedPlant[] = [
  leaks,
  conversationLeaks,
  fileLeaks,
  mailLeaks,
  askerLeaks,
  spawnedLeaks,
  windowLeaks,
  teamLeaks,
  serveLeaks,
  slackLeaks,
  questionLeaks,
  bugs,
].flat();

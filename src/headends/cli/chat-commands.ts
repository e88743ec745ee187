// The commands that a person can type in a chat on a terminal.
import type { ConversationRef } from '#contracts';
import { formatConversation } from './shared/find-and-open.ts';
import { shellWord } from './shared/next-commands.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

/** A path, as in `/etc/hosts`, is no command; after a space, nothing is. */
export const chatCommandIn = (line: string): string | null => /^\/[\w-]+(?=\s*$|\s)/u.exec(line)?.[0] ?? null;

type ChatPlace = { readonly typedAgent: string; readonly conversation: ConversationRef };

/** What is printed for a command other than /quit. */
export const chatCommandLines = (command: string, { typedAgent, conversation }: ChatPlace): readonly string[] => {
  const agent = shellWord(typedAgent);
  const name = shellWord(formatConversation(conversation));
  switch (command) {
    case '/help':
      return [
        '/help    these lines',
        '/attach  how to send a file',
        '/quit    exit; so does Ctrl-D',
        'Enter on an empty line asks again what agents asked and you left open.',
        'Ctrl-C cancels the current turn. To send a line that starts with / as a message, put a space before it.',
      ];
    case '/attach':
      return [
        'Messages of a chat take no files. Exit with /quit, and send the file in the same conversation:',
        `  cloister run ${agent} --conversation ${name} --attach <file> "<message>"`,
        'Then continue the chat:',
        `  cloister chat ${agent} --conversation ${name}`,
      ];
    default:
      return [
        sanitizeLine(`unknown command ${command}; the commands are /help, /attach and /quit.`),
        'To send the line as a message, put a space before it.',
      ];
  }
};

// `serve`: agents behind other people's clients, until somebody stops it; and `token`.
import type { Desk } from './desk.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { plural } from './figures.ts';
import { ownCommand } from './own-command.ts';
import type { Page } from './output.ts';
import type { ServeRequest, TokenRequest } from './request.ts';
import { bannerLines, serveLine } from './serve-lines.ts';
import type { ServeLine } from './serve-world.ts';
import { strayWords } from './follow.ts';
import { oneLine } from './text.ts';

export const serveCommand = async (request: ServeRequest, { world, output, interrupts }: Desk): Promise<ExitCode> => {
  const { json, stdio, workspace, graceMs } = request;
  const asked = Promise.withResolvers<void>();
  interrupts.orderly(asked.resolve);
  const log = (line: ServeLine): void => {
    if (json && !stdio) output.jsonLine(line);
    else output.err.print(serveLine(line, world.now(), output.err.paint));
  };
  const deaf = world.onStrayError((error) => output.err.print(oneLine(strayWords(error))));
  try {
    const serving = await world.serve(request, log);
    const { url, token, agents, inputEnded } = serving;
    // Standard output belongs to the protocol.
    const page: Page = stdio ? output.err : output.out;
    if (json && !stdio) output.jsonLine({ type: 'serving', url, token, agents: agents.map(({ name }) => name) });
    else page.print(...bannerLines(serving, page.paint));
    await Promise.race([asked.promise, ...(inputEnded === null ? [] : [inputEnded])]);
    output.err.print('stopping: what is under way may finish (Ctrl-C again to stop at once)');
    const left = await serving.stop(graceMs);
    if (left.length === 0 || request.memory) await serving.close();
    else
      output.err.print(
        `${plural(left.length, 'run')} had not ended, and can be gone on with:`,
        ...left.map((run) => `  ${ownCommand(`resume ${run}`, workspace)}`),
      );
    return exitCode.completed;
  } finally {
    deaf();
  }
};

export const tokenCommand = async ({ name, json }: TokenRequest, { world, output }: Desk): Promise<ExitCode> => {
  const { token, sha256 } = await world.makeToken(name);
  const entry = { name, sha256 };
  if (json) output.json({ token, entry });
  else
    output.out.print(
      `The token, shown once: ${token}`,
      '',
      'Its entry in a token file ({ "tokens": [ … ] }):',
      JSON.stringify(entry),
    );
  return exitCode.completed;
};

// Shows a link in the user's browser.
//
//   link-not-in-arguments. The link may hold a token, and every user of a machine can read the arguments of all processes. So the
//       browser is given a file that only this user can read, and the file leads to the link.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How long a browser may take to read the file. */
const keptMs = 60_000;

/** Resolves to false if there is no browser, or it cannot be started. */
export const openBrowser = async (
  link: string,
  env: NodeJS.ProcessEnv = process.env,
  platform: string = process.platform,
): Promise<boolean> => {
  const program = browserProgram(platform, env);
  if (program === null) return false;
  const folder = await mkdtemp(join(tmpdir(), 'cloister-studio-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const file = join(folder, 'open.html');
  await writeFile(file, redirectPage(link), { mode: 0o600 });
  const started = await start(program, file, env);
  if (started) setTimeout(remove, keptMs).unref();
  else remove();
  process.once('exit', remove);
  return started;
};

type Program = { readonly command: string; readonly args: readonly string[] };

/** Null: there is no screen that a browser could use. */
const browserProgram = (platform: string, env: NodeJS.ProcessEnv): Program | null => {
  if (platform === 'darwin') return { command: 'open', args: [] };
  if (platform === 'win32') return { command: 'cmd', args: ['/c', 'start', '""'] };
  const hasScreen = [env['DISPLAY'], env['WAYLAND_DISPLAY']].some((one) => one !== undefined && one !== '');
  return hasScreen ? { command: 'xdg-open', args: [] } : null;
};

const start = ({ command, args }: Program, file: string, env: NodeJS.ProcessEnv): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(command, [...args, file], { stdio: 'ignore', detached: true, env });
    child.once('error', () => resolve(false));
    child.once('spawn', () => resolve(true));
    child.unref();
  });

/** The link consists of an address and a token, neither of which has characters with a meaning in HTML. */
const redirectPage = (link: string): string =>
  `<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url=${encodeURI(link)}">\n<title>Cloister</title>\n`;

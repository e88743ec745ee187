// The browser for the tests of the page. Finds chromium, and installs it where apt-get can; run directly, it prints the result.
import { thisMachine } from './deep-setup.ts';
import type { Machine } from './deep-setup.ts';

export type Chromium = { readonly path: string } | { readonly path: null; readonly why: string };

const names = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/google-chrome',
];

const installHint =
  'chromium is not installed and could not be installed automatically. Install it with `apt-get install chromium` (Debian), `dnf install chromium` (Fedora), `apk add chromium` (Alpine).';

export const findChromium = (machine: Machine = thisMachine()): Chromium => {
  const path = installed(machine) ?? (install(machine) ? installed(machine) : undefined);
  return path === undefined ? { path: null, why: installHint } : { path };
};

const installed = ({ run }: Machine): string | undefined => names.find((name) => run(name, ['--version']).code === 0);

/** Somebody else may be installing something. */
const patient = ['-o', 'DPkg::Lock::Timeout=600'];

const install = ({ platform, root, run }: Machine): boolean => {
  if (platform !== 'linux' || !root || run('apt-get', ['--version']).code !== 0) return false;
  const tried = (): boolean =>
    run('apt-get', [...patient, 'install', '-y', '-q', '--no-install-recommends', 'chromium', 'fonts-roboto']).code ===
    0;
  // A fresh image has no package lists.
  return tried() || (run('apt-get', [...patient, 'update', '-q']).code === 0 && tried());
};

if (import.meta.main) {
  const found = findChromium();
  console.log(found.path ?? found.why);
  process.exitCode = found.path === null ? 1 : 0;
}

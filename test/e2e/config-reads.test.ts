// How often one command reads the operator's config.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { command, newFolder, run } from './driver.ts';

/** Imported before the command: prints, when it ends, which config files it opened. */
const countOpens = `data:text/javascript,${encodeURIComponent(`
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const opened = [];
  const openSync = fs.openSync;
  fs.openSync = (path, ...more) => {
    if (String(path).endsWith('.ai-agent.json')) opened.push(String(path));
    return openSync(path, ...more);
  };
  syncBuiltinESMExports();
  process.on('exit', () => fs.writeSync(2, 'opened ' + JSON.stringify(opened)));
`)}`;

const agent = (models: string): string =>
  `---\ndescription: Greets.\nusage: Hello\noutput: { format: text }\nmodels: [${models}]\n---\nGreet.\n`;

// invariants: config-file-read-once, config-reads-listed-files-only
test('a command reads each config file once, whoever asks: for the default agent, for its file, for its models', async () => {
  const cwd = newFolder();
  const home = newFolder();
  mkdirSync(join(cwd, 'agents'));
  mkdirSync(join(home, '.ai-agent'));
  const provider = { type: 'rehearsal', script: 'script.yaml' };
  writeFileSync(join(cwd, 'agents/script.yaml'), 'lines: [{ reply: Hello. }]\n');
  writeFileSync(join(cwd, 'agents/greeter.ai'), agent('stage/one'));
  writeFileSync(join(cwd, 'agents/.ai-agent.json'), JSON.stringify({ providers: { stage: provider } }));
  writeFileSync(join(cwd, '.ai-agent.json'), JSON.stringify({ defaultAgent: 'greeter', agents: ['agents'] }));
  writeFileSync(join(home, '.ai-agent/.ai-agent.json'), '{}');

  const args = ['--import', countOpens, command, 'run', 'greeter', 'Hello'];
  const { code, stdout, stderr } = await run(process.execPath, args, { cwd, env: { HOME: home } });
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello.\n' });
  const opened = JSON.parse(/opened (\[.*\])/u.exec(stderr)![1]!) as readonly string[];
  expect(opened.toSorted()).toEqual(
    [
      join(cwd, '.ai-agent.json'),
      join(cwd, 'agents/.ai-agent.json'),
      join(home, '.ai-agent/.ai-agent.json'),
    ].toSorted(),
  );
});

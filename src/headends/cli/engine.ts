// `engine`: what an engine is told of the runs in the store.
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import { configOption, listOption, requiredArgument, workspaceOption } from './shared/options.ts';

export default defineCommand({
  about: 'tell an engine again which runs are open, from the store alone',
  examples: ['cloister engine reconcile --agent lead.ai --engine pg-boss:postgres://db'],
  notes: ['An engine may forget everything: after this, it calls workers again for each', 'run that nobody drives.'],
  arguments: { action: requiredArgument('reconcile') },
  options: {
    agent: listOption('<path|name>', 'an .ai file, a folder, a team file, a module or a name; repeatable'),
    engine: { about: 'the engine', takes: '<url>', absent: 'none', initial: 'none' },
    ...configOption,
    ...workspaceOption,
  },
  run: async ({ action, agent: agents, engine, workspace, config, json }, { server, output }) => {
    if (action !== 'reconcile') throw new UsageError(`unknown action "${action}"`, 'cloister engine reconcile');
    if (agents.length === 0) throw new UsageError('no agents were given', 'cloister engine reconcile --agent lead.ai');
    const options = { agents, workspace, config, engine, slots: 1, restAfterMs: 0, graceMs: 0, processPerRun: null };
    const called = await server.reconcile(options);
    output.result(json, { called }, () => [`Told ${engine} of ${plural(called.length, 'run')}.`]);
    return exitCode.completed;
  },
});

// Checkpointing a run with a thousand cells, with its exported file, against a plain write of the same bytes.
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { rehearse } from '#testkit';
import type { Benchmark } from './benchmark.ts';
import { median, wallMs } from './measure.ts';

const cells = 1_000;
const rounds = 7;

/** A lead that calls a thousand agents, fifty per turn. */
const team = () => {
  const turns = cells / 50;
  const model = rehearse(
    [
      {
        when: { agent: 'lead' },
        reply: ({ turn }) =>
          turn > turns
            ? 'Done.'
            : {
                calls: Array.from({ length: 50 }, (_, nth) => ({
                  tool: 'scout',
                  args: { prompt: `Look ${turn}/${nth}` },
                })),
              },
      },
      { reply: ({ goal }) => `Seen: ${goal}` },
    ],
    { keepRequests: false },
  );
  const scout = defineAgent({ name: 'scout', description: 'Looks.', prompt: 'Look.', models: [model] });
  return defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    models: [model],
    agents: [scout],
    limits: { maxToolTurns: turns + 1, parallelToolCalls: 50 },
  });
};

type Sample = { readonly ms: number; readonly plainMs: number; readonly bytes: number; readonly pauseMs: number };

const take = async (cloister: Cloister, folder: string, run: string): Promise<Sample> => {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let id = '';
  const ms = await wallMs(async () => void ({ id } = await cloister.checkpoints.create(run)));
  delay.disable();
  const kept = join(folder, 'agents', 'lead', 'checkpoints');
  const names = (await readdir(kept)).filter((name) => name.includes(id));
  const bytes = await readFile(join(kept, names[0] ?? `${id}.json`));
  const plainMs = await wallMs(async () => {
    const file = await open(join(folder, 'plain.json'), 'w');
    await file.writeFile(bytes);
    await file.sync();
    await file.close();
  });
  return { ms, plainMs, bytes: bytes.length, pauseMs: delay.max / 1e6 };
};

export const checkpointBenchmark: Benchmark = {
  name: 'checkpoint',
  about: `checkpointing a run with ${cells} cells, with its exported file, against a plain write and sync of the same bytes`,
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'cloister-bench-checkpoint-'));
    try {
      await using cloister = await openCloister({ workspace: folder, agents: [team()] });
      const { run, status } = await cloister.run('lead', 'Go').outcome;
      if (status !== 'completed') throw new Error(`The run ended with status ${status}.`);
      const samples: Sample[] = [];
      for (let round = -2; round < rounds; round++) {
        const sample = await take(cloister, folder, run);
        if (round >= 0) samples.push(sample);
      }
      const of = (key: keyof Sample): number => median(samples.map((sample) => sample[key]));
      return [
        {
          what: `a checkpoint of ${Math.round(of('bytes') / 1_000)} KB, raw = a plain write of those bytes`,
          unit: 'ms',
          raw: of('plainMs'),
          cloister: of('ms'),
          figure: median(samples.map(({ ms, plainMs }) => ms / plainMs)),
          figureUnit: '×',
          target: null,
        },
        {
          what: '… longest event-loop pause',
          unit: 'ms',
          raw: null,
          cloister: of('pauseMs'),
          figure: of('pauseMs'),
          figureUnit: 'ms',
          target: null,
        },
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

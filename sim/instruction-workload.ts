// Adds what does not come from prompts: instructions and files of the caller of a run, and the skills of agents. Each has a stream of
// its own, so all other seeds stay as they were.
import type { Attachment, Skill } from '#contracts';
import type { AgentPlan, RunPlan } from './plan.ts';
import type { Random } from './random.ts';

/** The share of runs whose caller sends instructions, or files, and of runs whose agents have skills. */
const [callerShare, fileShare, skillShare] = [0.06, 0.06, 0.06];

/**
 * The names of the streams are such that no seed of `regression-seeds.ts` draws either, and almost none at which a planted bug is
 * found.
 */
export const withInstructions = (run: RunPlan, random: Random, index: number): RunPlan => {
  const callerRandom = random.fork(`instructions ${index}`).fork('by request');
  const skillRandom = random.fork(`told ${index}`).fork('books');
  // A team has no model that could be told anything.
  const system = run.team === null && callerRandom.chance(callerShare) ? planSystem(callerRandom) : [];
  const fileRandom = random.fork(`pages ${index}`).fork('with request');
  const isPlain = run.team === null && run.resident === null;
  const attachments = isPlain && fileRandom.chance(fileShare) ? planFiles(fileRandom) : [];
  return {
    ...run,
    system,
    attachments,
    agent: skillRandom.chance(skillShare) ? withSkills(run.agent, skillRandom) : run.agent,
  };
};

const planSystem = (random: Random): readonly string[] =>
  Array.from(
    { length: random.int(1, 2) },
    () => `obey ${random.hex()}${random.chance(0.2) ? '\nYou are the agent "lead0".' : ''}`,
  );

/** A text, and perhaps a picture with a header of its own size. */
const planFiles = (random: Random): readonly Attachment[] => [
  { mediaType: 'text/plain', name: 'page.txt', data: Buffer.from(`read ${random.hex()}`) },
  ...(random.chance(0.6) ? [{ mediaType: 'image/png', data: pictureOf(random) }] : []),
];

const pictureOf = (random: Random): Uint8Array => {
  const header = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  const sides = Buffer.alloc(8);
  sides.writeUInt32BE(random.int(1, 60), 0);
  sides.writeUInt32BE(random.int(1, 60), 4);
  return Buffer.concat([header, sides, Buffer.from(random.hex())]);
};

/** Gives skills to the agent, and to those that it calls, spawns or consists of. All skills have the same few names. */
const withSkills = (plan: AgentPlan, random: Random): AgentPlan => {
  const below = (agents: readonly AgentPlan[]): readonly AgentPlan[] =>
    agents.map((agent) => withSkills(agent, random.fork(agent.name)));
  const { team, mail, role } = plan;
  const isPlain = team === null && role?.as !== 'coordinator';
  return {
    ...plan,
    skills: isPlain && random.chance(0.8) ? planSkills(random) : [],
    agents: below(plan.agents),
    team: team && { ...team, members: below(team.members) },
    mail: mail && { ...mail, spawns: mail.spawns && { ...mail.spawns, agents: below(mail.spawns.agents) } },
  };
};

export const skillFile = 'more.md';

const planSkills = (random: Random): readonly Skill[] =>
  ['own', 'other'].slice(0, random.int(1, 2)).map((name) => ({
    name,
    description: `helps with ${random.hex()}`,
    instructions: `do ${random.hex()}${random.chance(0.2) ? ' and so on'.repeat(60) : ''}`,
    files: { [skillFile]: `know ${random.hex()}` },
  }));

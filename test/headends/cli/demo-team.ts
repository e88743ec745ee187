// The team of the demo, with the texts of a scene.
import type { DemoTeam } from '#headends/cli';
import type { Scene } from './scene.ts';

/** In the plain loop, one agent is shown the secret and sends it. */
export const demoTeamOf = ({ agent, childAgent, goal, answer, tool }: Scene): DemoTeam => {
  const sent: { to: string; text: string }[] = [];
  return {
    agent: 'examples/side-by-side/desk.ai',
    loop: 'examples/side-by-side/plain-loop.mjs',
    loopLines: 33,
    secret: 'not in the scene',
    owner: childAgent,
    injected: goal,
    sent,
    runPlain: async () => {
      sent.push({ to: agent, text: goal });
      const prompt = `not in the scene: ${goal}`;
      return {
        answer,
        requests: [
          { agent, prompt, calls: [`${tool}__send_mail`] },
          { agent: childAgent, prompt, calls: [] },
        ],
      };
    },
  };
};

// A team in a plain loop: one list of messages that everybody is shown and adds to, and tools that are called as asked.

const said = (role, text) => ({ role, content: [{ type: 'text', text }] });
const result = ({ toolCallId, toolName }, value) => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }],
});

/** `team`: the instructions of each agent. `model`: an AI SDK model. Returns the answer, and every request. */
export const runPlainTeam = async ({ team, lead, tools, model, input }) => {
  const messages = [said('user', input)];
  const requests = [];

  const work = async (agent) => {
    for (;;) {
      const prompt = [{ role: 'system', content: team[agent] }, ...messages];
      const { content } = await model.doGenerate({ prompt });
      requests.push({ agent, prompt, content });
      messages.push({ role: 'assistant', content });
      const calls = content.filter(({ type }) => type === 'tool-call');
      if (calls.length === 0) return content.map(({ text }) => text).join('');

      for (const call of calls) {
        const args = JSON.parse(call.input);
        const isAgent = call.toolName in team;
        if (isAgent) messages.push(said('user', args.prompt));
        messages.push(result(call, await (isAgent ? work(call.toolName) : tools[call.toolName](args))));
      }
    }
  };

  return { answer: await work(lead), requests };
};

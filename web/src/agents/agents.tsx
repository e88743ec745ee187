// The agents, and what they can reach.
export const Agents = () => <div class="pane-empty" />;

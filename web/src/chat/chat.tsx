// The chat with an agent.
export const Chat = () => <div class="pane-empty" />;
